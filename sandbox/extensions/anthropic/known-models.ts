/** Names to offer; others may be used as well. */
export const MODELS: readonly [string, ...string[]] = ['claude-sonnet-4-5', 'claude-opus-4-5', 'claude-haiku-4-5'];

const STANDARD_WINDOW = 200_000;

/** Every Claude model since version 3 documents this window; null for other names. */
export function contextWindowOf(name: string, overrides: Readonly<Record<string, number>>): number | null {
  return new Map(Object.entries(overrides)).get(name) ?? (name.startsWith('claude-') ? STANDARD_WINDOW : null);
}
