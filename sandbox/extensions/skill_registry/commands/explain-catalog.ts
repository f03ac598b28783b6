import { counted } from '@pith/plain-text';
import type { AgentSpec, ExtensionContext } from 'pith';
import { catalogLine, lineOf } from '@pith/skill-files';
import { catalogBudget, renderCatalog } from '../catalog/catalog.ts';
import { type SkillScope, scopeOf } from '../catalog/scope.ts';
import { SHOWN_BESIDE } from '../catalog/turn-part.ts';
import { modeOf } from '../modes/mode.ts';
import type { SkillSearch } from '../search/skill-search.ts';
import type { Skill, Snapshot } from '../skill.ts';

export interface CatalogReport {
  readonly [key: string]: string | number | boolean | null;
  readonly agent: string | null;
  /** How the agent meets its skills. */
  readonly mode: string;
  /** As it is in the catalog, or at a medium length where it has no line there. */
  readonly line: string;
  readonly offered: boolean;
  readonly why: string;
  /** Tokens that the catalog may have in a model of a large or unknown window; a small one has room for fewer lines. */
  readonly budget: number;
  /** null where no catalog lists it. */
  readonly withinBudget: boolean | null;
  /** Tokens that the catalog has, estimated. */
  readonly tokens: number;
  /** Skills that it speaks of. */
  readonly skills: number;
  /** Those of them that have a line. */
  readonly lines: number;
  /** How the others are named; null where there are none. */
  readonly rest: 'names' | 'groups' | null;
}

/** Where no agent is named: every offered skill, the full budget. */
export async function catalogOf(
  skill: Skill,
  snapshot: Snapshot,
  agent: AgentSpec | null,
  context: Pick<ExtensionContext, 'id' | 'find' | 'logger' | 'clock'>,
): Promise<CatalogReport> {
  const scope = scopeOf(snapshot, agent ?? { keys: {}, usesSkills: [] });
  const mode = agent === null ? 'catalog' : await modeOf(context, agent);
  const reads = agent === null || mode !== 'catalog' || holdsReader(agent, scope, context.id);
  const against = whyNot(skill, scope) ?? (reads ? null : `the agent does not have ${context.id}/read_skill (uses_tools)`);
  const offered = against === null;
  const budget = scope.settings.budget_tokens ?? catalogBudget(null);
  const { text, lines, limit, tokens, rest } = renderCatalog(mode === 'catalog' ? scope.catalog : [], { budget, pinned: scope.pinned });
  return {
    agent: agent?.id ?? null,
    mode,
    line: lines.includes(skill) ? (limit === 0 ? lineOf(skill.id, '') : catalogLine(skill, limit!)) : catalogLine(skill),
    offered,
    why: against ?? FOR[mode] ?? `it is in scope, and the mode ${mode} brings it`,
    budget,
    withinBudget: offered && mode === 'catalog' ? lines.includes(skill) : null,
    tokens,
    skills: lines.length === 0 && text === null ? 0 : scope.catalog.length,
    lines: lines.length,
    rest,
  };
}

/** What the budget is spent on. */
export function budgetLine({ tokens, budget, skills, lines, rest }: CatalogReport): string {
  const others = rest === null ? '' : `, ${skills - lines} ${rest === 'names' ? 'by name' : 'named or counted by topic'}`;
  return `budget: ${tokens} of ${budget} tokens for ${counted(skills, 'skill')}: ${lines} with a line${others}`;
}

const FOR: Readonly<Record<string, string>> = {
  catalog: 'it is offered and in scope',
  single_tool: 'it is in scope, and one of the names that the tool skill takes',
  none: 'it is in scope',
};

function whyNot(skill: Skill, { settings, bound, catalog, denies }: SkillScope): string | null {
  if (skill.state !== 'offered') return `it is ${skill.state}: ${skill.reason ?? 'no reason is known'}`;
  if (bound.has(skill.id)) return 'the agent carries its text already (uses_skills)';
  if (catalog.includes(skill)) return null;
  if (settings.mode === 'none') return "the agent's skills.mode is none";
  if (denies(skill)) return "the agent's skills.deny names it";
  return `the agent's skills.allow does not name it${settings.scope === 'declared' ? ' (skills.scope is declared)' : ''}`;
}

/** Whether the agent has the tool by which a catalog is used: a mode that became one brings it. */
function holdsReader({ usesTools }: AgentSpec, { settings }: SkillScope, extensionId: string): boolean {
  return (
    settings.mode === 'triggers' || usesTools.some((tool) => tool === '*' || tool === extensionId || tool === `${extensionId}/read_skill`)
  );
}

/** How a text as a first message brings a skill: by its line in the system prompt, with the message, by search only, or not at all. */
export type Place = keyof typeof PLACES;

/** Among what the agent may see; without an agent among all that are offered. */
export async function placeFor(
  skill: Skill,
  text: string,
  { agent, catalog }: { readonly agent: AgentSpec | null; readonly catalog: CatalogReport },
  { search, snapshot, signal }: { readonly search: SkillSearch; readonly snapshot: Snapshot; readonly signal: AbortSignal },
): Promise<Place> {
  if (catalog.withinBudget === true) return 'system';
  const { readable, bound, catalog: all, pinned } = scopeOf(snapshot, agent ?? { keys: {}, usesSkills: [] });
  const lines = new Set(renderCatalog(all, { budget: catalog.budget, pinned }).lines.map(({ id }) => id));
  const whose = agent === null ? {} : { agentId: agent.id };
  const finds = async (k: number, among: (id: string) => boolean) => {
    const { ranked } = await search.rankComplete(snapshot, text, { ...whose, k, weak: true, among }, signal);
    const isFound = skill.state === 'offered' && ranked.some(({ id }) => id === skill.id);
    return { isFound, isSuggested: isFound && ranked.some(({ weak }) => weak !== true) };
  };
  const unlisted = (id: string) => readable.has(id) && !bound.has(id) && !lines.has(id);
  if (catalog.withinBudget === false && (await finds(SHOWN_BESIDE, unlisted)).isSuggested) return 'beside';
  return (await finds(Math.max(1, readable.size), (id) => readable.has(id))).isFound ? 'search' : 'none';
}

export function placeLine(place: Place): string {
  return `for this text: ${PLACES[place]}`;
}

const PLACES = {
  system: 'its line is in the system prompt anyway',
  beside: `it is suggested with the message, among the ${SHOWN_BESIDE} that fit best`,
  search: 'only a search finds it',
  none: 'nothing brings it',
};
