import type { AgentSpec, TurnInfo } from 'pith';
import type { Skill, Snapshot } from '../../../sandbox/extensions/skill_registry/skill.ts';
import type { CatalogPorts } from '../../../sandbox/extensions/skill_registry/catalog/catalog-context.ts';
import type { SkillRecords } from 'pith/skill_registry';
import { ScopeCache, scopeOf } from '../../../sandbox/extensions/skill_registry/catalog/scope.ts';
import { agentSpec } from '../../fixtures/agent-spec.ts';

/** A skill as a scan would find it. */
export function skillOf(id: string, values: Partial<Skill> = {}): Skill {
  return {
    id,
    name: id,
    description: `Does what ${id} says.`,
    brief: null,
    version: null,
    tags: [],
    requires: [],
    examples: [],
    allowedTools: null,
    toolsets: [],
    scripts: [],
    defaultEnabled: true,
    triggers: null,
    extra: {},
    source: 'sandbox/skills',
    directory: `/skills/${id}`,
    realDirectory: `/skills/${id}`,
    file: `/skills/${id}/SKILL.md`,
    stamp: '1 1 100 1',
    tokens: 25,
    tokensEstimated: true,
    state: 'offered',
    reason: null,
    diagnostics: [],
    ...values,
  };
}

export function snapshotOf(skills: readonly Skill[], generation = 1): Snapshot {
  const sorted = [...skills].sort((a, b) => (a.id < b.id ? -1 : 1));
  const winners = sorted.filter((skill) => skill.state !== 'shadowed');
  const aliases = winners.filter((skill) => skill.name !== skill.id).map((skill): [string, string] => [skill.name, skill.id]);
  return {
    generation,
    skills: new Map(winners.map((skill) => [skill.id, skill])),
    all: sorted,
    aliases: new Map(aliases),
    diagnostics: [],
  };
}

/** As the registry tells its siblings of them; `agent`: as this agent sees them. */
export function recordsOf(skills: readonly Skill[], agent: Pick<AgentSpec, 'keys' | 'usesSkills'> | null = null): SkillRecords {
  const snapshot = snapshotOf(skills);
  const { generation, all } = snapshot;
  const view = { generation, skills: [...snapshot.skills.values()], all };
  if (agent === null) return { ...view, agent: null };
  const { readable, bound, settings } = scopeOf(snapshot, agent);
  return { ...view, agent: { readable: [...readable.keys()].sort(), bound: [...bound], settings } };
}

export function agentOf(values: Partial<AgentSpec> = {}): AgentSpec {
  const limits = { max_turns: 1, max_tool_calls: 9, max_tokens: 9, time_budget_ms: 9 };
  return agentSpec({ id: 'tester', name: 'tester', usesTools: ['skill_registry'], limits, ...values });
}

export function turnOf(values: Partial<TurnInfo> = {}): TurnInfo {
  return {
    id: 'turn-1',
    threadId: 'thread-1',
    agent: agentOf(),
    channelId: 'test',
    userId: 'user',
    correlationId: 'c',
    depth: 0,
    compactions: 0,
    held: [],
    bound: [],
    tools: ['skill_registry/list_skills', 'skill_registry/read_skill', 'skill_registry/read_skill_resource'],
    model: { ref: 'test/model', contextWindow: null },
    userTexts: [],
    ...values,
  };
}
/** What the catalog of a turn is made from, over a search that finds as it is told. */
export function catalogPorts(values: Pick<CatalogPorts, 'search'> & Partial<CatalogPorts>): CatalogPorts {
  const quiet = { suggested: async () => [], offered: () => undefined };
  return { cache: new ScopeCache(), readTool: 'skill_registry/read_skill', ...quiet, ...values };
}
