import type { Skill } from '../skill.ts';
import { catalogLine, clean } from './brief.ts';
import { estimateTokens } from './token-estimate.ts';

export interface TurnPartInput {
  /** Skills for the user's last texts, best first. */
  readonly ranked: readonly Skill[];
  /** Skills loaded in this thread, the latest first. */
  readonly recent: readonly Skill[];
  /** False while the search index is behind the files. */
  readonly searchReady: boolean;
}

const BUDGET = 400;
const SHOWN = 12;

/** What stands beside the user's message when the catalog does not fit: at most 400 tokens; null when nothing fits the message and the search is complete. */
export function renderTurnPart({ ranked, recent, searchReady }: TurnPartInput): string | null {
  const loaded = recent.slice(0, 4);
  const shown = ranked.filter((skill) => !loaded.includes(skill)).slice(0, SHOWN - loaded.length);
  if (shown.length + loaded.length === 0) return searchReady ? null : lines([], [], 0, false).join('\n');
  for (const limit of [160, 110, 80, 60, 45, 30, 15]) {
    const text = lines(shown, loaded, limit, searchReady).join('\n');
    if (estimateTokens(text) <= BUDGET) return text;
  }
  return fewest(shown, loaded, searchReady);
}

function lines(shown: readonly Skill[], loaded: readonly Skill[], limit: number, searchReady: boolean): readonly string[] {
  return [
    '[Skills for this message]',
    ...(loaded.length === 0 ? [] : [`Loaded before: ${loaded.map((skill) => `\`${clean(skill.id)}\``).join(', ')}`]),
    ...shown.map((skill) => catalogLine(skill, limit)),
    ...(searchReady ? [] : ['(the skills are still being indexed: more may fit; list_skills(query) searches again)']),
  ];
}

/** Ids too long for the budget together: as many as fit, best first. */
function fewest(shown: readonly Skill[], loaded: readonly Skill[], searchReady: boolean): string | null {
  for (let count = shown.length; count > 0; count--) {
    const text = lines(shown.slice(0, count), loaded.slice(0, count), 15, searchReady).join('\n');
    if (estimateTokens(text) <= BUDGET) return text;
  }
  return null;
}
