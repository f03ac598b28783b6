import type { AgentSpec } from 'pith';
import { SHOWN_BESIDE } from '../catalog/turn-part.ts';
import type { SkillSearch } from '../search/skill-search.ts';
import type { Skill, Snapshot } from '../skill.ts';
import type { CatalogReport } from './explain-catalog.ts';

/** How a text as a first message brings a skill: by its line in the system prompt, beside the message, by search only, or not at all. */
export type Place = keyof typeof PLACES;

/** Among what the agent may see; without an agent among all that are offered. */
export async function placeFor(
  skill: Skill,
  text: string,
  { agent, catalog }: { readonly agent: AgentSpec | null; readonly catalog: CatalogReport },
  { search, snapshot, signal }: { readonly search: SkillSearch; readonly snapshot: Snapshot; readonly signal: AbortSignal },
): Promise<Place> {
  if (catalog.withinBudget === true) return 'system';
  const { scopeOf } = await import('../catalog/scope.ts');
  const { renderCatalog } = await import('../catalog/catalog.ts');
  const { readable, bound, catalog: all, pinned } = scopeOf(snapshot, agent ?? { keys: {}, usesSkills: [] });
  const lines = new Set(renderCatalog(all, { budget: catalog.budget, pinned }).lines.map(({ id }) => id));
  const whose = agent === null ? {} : { agentId: agent.id };
  const finds = async (k: number, weak: boolean, among: (id: string) => boolean) => {
    const { ranked } = await search.patiently(snapshot, text, { ...whose, k, weak, among }, signal);
    return skill.state === 'offered' && ranked.some(({ id }) => id === skill.id);
  };
  const unlisted = (id: string) => readable.has(id) && !bound.has(id) && !lines.has(id);
  if (catalog.withinBudget === false && (await finds(SHOWN_BESIDE, true, unlisted))) return 'beside';
  return (await finds(Math.max(1, readable.size), false, (id) => readable.has(id))) ? 'search' : 'none';
}

export function placeLine(place: Place): string {
  return `for this text: ${PLACES[place]}`;
}

const PLACES = {
  system: 'its line stands in the system prompt anyway',
  beside: `it stands beside the message, among the ${SHOWN_BESIDE} that fit best`,
  search: 'only a search finds it',
  none: 'nothing brings it',
};
