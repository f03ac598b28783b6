import { printable } from '@pith/plain-text';

/** JSON of what came as JSON. null: it is nested deeper than it can be written. */
export function asJson(value: unknown): string | null {
  try {
    return JSON.stringify(value) ?? null;
  } catch {
    return null; // its depth is all that can be wrong with it
  }
}

/** As it may be shown, and cut; `cure` says what to do about that. */
export function shownText(text: string, longest: number, cure = ''): string {
  const shown = printable(text.slice(0, longest));
  const more = Math.max(text.length, shown.length) - longest;
  return more > 0 ? `${shown.slice(0, longest)}… [${more} characters more${cure}]` : shown;
}
