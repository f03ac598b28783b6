import type { Skill } from '../skill.ts';
import { catalogLine, clean } from './brief.ts';
import { estimateTokens } from './token-estimate.ts';

export interface TurnPartInput {
  /** Skills for the user's last texts, best first. */
  readonly ranked: readonly Skill[];
  /** Skills loaded in this thread, the latest first. */
  readonly recent: readonly Skill[];
  /** False while bodies are still being read for the search. */
  readonly searchReady: boolean;
}

const BUDGET = 400;
const SHOWN = 12;

/** What stands beside the user's message when the catalog does not fit: at most 400 tokens; null when nothing fits the message. */
export function renderTurnPart({ ranked, recent, searchReady }: TurnPartInput): string | null {
  const loaded = recent.slice(0, 4);
  const shown = ranked.filter((skill) => !loaded.includes(skill)).slice(0, SHOWN - loaded.length);
  if (shown.length + loaded.length === 0) return null;
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
    ...(searchReady ? [] : ['(ranked by name, description and tags; the skills’ texts are still being indexed)']),
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
