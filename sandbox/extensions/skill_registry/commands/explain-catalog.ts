import type { AgentSpec } from 'pith';
import type { SkillScope } from '../catalog/scope.ts';
import type { Skill, Snapshot } from '../skill.ts';

export interface CatalogReport {
  readonly [key: string]: string | number | boolean | null;
  readonly agent: string | null;
  /** The agent's `skills.mode`. */
  readonly mode: string;
  readonly line: string;
  readonly offered: boolean;
  readonly why: string;
  /** Tokens that the catalog may have in a model of a large or unknown window; a small one has room for fewer lines. */
  readonly budget: number;
  /** null where no catalog tells of it. */
  readonly withinBudget: boolean | null;
  /** Tokens that the catalog has, estimated. */
  readonly tokens: number;
  /** Skills that it speaks of. */
  readonly skills: number;
  /** Those of them that have a line. */
  readonly lines: number;
  /** How the others are told of; null where there are none. */
  readonly rest: 'names' | 'groups' | null;
}

/** Where no agent is named: every offered skill, the full budget. */
export async function catalogOf(skill: Skill, snapshot: Snapshot, agent: AgentSpec | null, extensionId: string): Promise<CatalogReport> {
  const { catalogLine } = await import('../catalog/brief.ts');
  const { renderCatalog } = await import('../catalog/catalog.ts');
  const { reasonsOf, scopeOf } = await import('../catalog/scope.ts');
  const { catalogBudget } = await import('../catalog/token-estimate.ts');
  const scope = scopeOf(snapshot, agent ?? { keys: {}, usesSkills: [] });
  const { mode, budget_tokens: asked } = scope.settings;
  const against = whyNot(skill, agent, scope, extensionId, reasonsOf(scope));
  const offered = against === null;
  const budget = asked ?? catalogBudget(null);
  const made = renderCatalog(mode === 'catalog' ? scope.catalog : [], { budget, pinned: scope.pinned });
  const withinBudget = offered && mode === 'catalog' ? made.lines.includes(skill) : null;
  const state = {
    tokens: made.tokens,
    skills: made.lines.length === 0 && made.text === null ? 0 : scope.catalog.length,
    lines: made.lines.length,
  };
  return {
    agent: agent?.id ?? null,
    mode,
    line: catalogLine(skill),
    offered,
    why: against ?? FOR[mode],
    budget,
    withinBudget,
    ...state,
    rest: made.rest,
  };
}

/** What the budget is spent on. */
export function budgetLine({ tokens, budget, skills, lines, rest }: CatalogReport): string {
  const others = rest === null ? '' : `, ${skills - lines} ${rest === 'names' ? 'by name' : 'counted in groups'}`;
  return `budget: ${tokens} of ${budget} tokens for ${skills} skill${skills === 1 ? '' : 's'}: ${lines} with a line${others}`;
}

const FOR: Readonly<Record<SkillScope['settings']['mode'], string>> = {
  catalog: 'it is offered and in scope',
  single_tool: 'it is in scope, and one of the names that the tool skill takes',
  triggers: 'it is in scope, and comes with the messages that it fits',
  none: 'it is in scope',
};

function whyNot(
  skill: Skill,
  agent: AgentSpec | null,
  scope: SkillScope,
  extensionId: string,
  reason: (skill: Skill) => string,
): string | null {
  if (skill.state !== 'offered') return `it is ${skill.state}: ${skill.reason ?? 'no reason is known'}`;
  if (agent === null) return null;
  if (scope.bound.has(skill.id)) return 'the agent carries its text already (uses_skills)';
  if (!scope.catalog.includes(skill)) return reason(skill);
  if (scope.settings.mode !== 'catalog') return null; // such a mode brings its own tools
  const reads = agent.usesTools.some((tool) => tool === '*' || tool === extensionId || tool === `${extensionId}/read_skill`);
  return reads ? null : `the agent does not hold ${extensionId}/read_skill (uses_tools)`;
}
