import type { SavedSkill } from './saved-skill.ts';

export type RunState = { readonly at: 'start' | 'end' | 'error' } | { readonly at: 'tool'; readonly tool: string };

/** The emoji of a state; null: none. The default one is for the start alone. */
export function emojiOf(
  { default_emoji, state_react_emoji }: Pick<SavedSkill, 'default_emoji' | 'state_react_emoji'>,
  state: RunState,
): string | null {
  const key = state.at === 'tool' ? state.tool : `__${state.at}__`;
  const own = Object.hasOwn(state_react_emoji, key) ? state_react_emoji[key] : undefined;
  const emoji = own ?? (state.at === 'start' ? default_emoji : '');
  return emoji === '' ? null : emoji;
}
