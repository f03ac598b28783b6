import type { AgentSpec, CommandContext } from 'pith';
import { learnedOf } from '../search/learned-examples.ts';
import type { SearchAnswer, SkillSearch } from '../search/skill-search.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { SHOWN_BESIDE } from '../catalog/turn-part.ts';
import type { CatalogReport } from './explain-catalog.ts';

export interface RankingReport {
  readonly [key: string]: string | number | null | readonly string[];
  readonly text: string;
  /** Its place among the skills that fit, from 1, among those that the agent may see; null: it does not fit. */
  readonly rank: number | null;
  readonly of: number;
  readonly score: number | null;
  /** The words that matched. */
  readonly why: readonly string[];
  /** What ranked: `lexical`, `fused` or the id of an extension. */
  readonly by: string;
  /** Why it is not what the settings name; null where it is. */
  readonly instead: string | null;
  /** How the text as a first message brings it: by its line in the system prompt, beside the message, by search only, or not at all. */
  readonly place: 'system' | 'beside' | 'search' | 'none';
}

/** How a skill ranks for a text, among what the agent may see; without an agent among all that are offered. */
export async function rankingOf(
  skill: Skill,
  text: string,
  agent: AgentSpec | null,
  catalog: CatalogReport,
  { search, snapshot, signal }: { readonly search: SkillSearch; readonly snapshot: Snapshot; readonly signal: AbortSignal },
): Promise<RankingReport> {
  const { scopeOf } = await import('../catalog/scope.ts');
  const { renderCatalog } = await import('../catalog/catalog.ts');
  const { readable, bound, catalog: all, pinned } = scopeOf(snapshot, agent ?? { keys: {}, usesSkills: [] });
  const whose = agent === null ? {} : { agentId: agent.id };
  const { ask, instead } = await search.patiently(snapshot, text, signal);
  const found = await ask({ ...whose, k: Math.max(1, readable.size), among: (id) => readable.has(id) });
  const at = placeIn(skill, found);
  const isBeside = async () => {
    const lines = new Set(renderCatalog(all, { budget: catalog.budget, pinned }).lines.map(({ id }) => id));
    const among = (id: string) => readable.has(id) && !bound.has(id) && !lines.has(id);
    return placeIn(skill, await ask({ ...whose, k: SHOWN_BESIDE, weak: true, among })) >= 0;
  };
  const place =
    catalog.withinBudget === true
      ? 'system'
      : catalog.withinBudget === false && (await isBeside())
        ? 'beside'
        : at >= 0
          ? 'search'
          : 'none';
  const { score = null, why = [] } = found.ranked[at] ?? {};
  return { text, rank: at < 0 ? null : at + 1, of: found.ranked.length, score, why, by: found.by, instead: instead(found), place };
}

/** How many texts that it was loaded for help to find it. */
export async function learnedCount(context: CommandContext, { id }: Skill): Promise<number> {
  const learned = learnedOf(context);
  await learned?.look();
  return learned?.count(id) ?? 0;
}

export function* rankingLines({ text, rank: at, of, score, why, by, instead, place }: RankingReport): Iterable<string> {
  yield at === null
    ? `search: does not rank for '${text}'; ${of === 1 ? '1 other skill does' : `${of} other skills do`}`
    : `search: ranks ${at} of ${of} for '${text}' (score ${score?.toFixed(2)}${by === 'lexical' ? '' : ` by ${by}`}; matched ${why.join(', ')})`;
  if (instead !== null) yield instead;
  yield `for this text: ${PLACES[place]}`;
}

const PLACES: Readonly<Record<RankingReport['place'], string>> = {
  system: 'its line stands in the system prompt anyway',
  beside: `it stands beside the message, among the ${SHOWN_BESIDE} that fit best`,
  search: 'only a search finds it',
  none: 'nothing brings it',
};

function placeIn({ id, state }: Skill, { ranked }: SearchAnswer): number {
  return state === 'offered' ? ranked.findIndex((one) => one.id === id) : -1;
}
