import type { AgentSpec } from 'pith';
import type { SkillState } from '../skill.ts';
import { agentSkillsSchema, type AgentSkills } from '../config.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { findSkill } from '../scan/names.ts';
import { keptBack, matcher } from '../scan/skill-list.ts';

/** What one agent may see of one snapshot. */
export interface SkillScope {
  readonly settings: AgentSkills;
  /** Offered in the catalog, sorted by id; without the skills that the agent carries already. */
  readonly catalog: readonly Skill[];
  /** Ids of those in the catalog that keep their line when not all fit, the first to keep it first. */
  readonly pinned: readonly string[];
  /** Ids of the skills that the agent carries. */
  readonly bound: ReadonlySet<string>;
  /** Whether `skills.allow` and `scope`, and whether `skills.deny` name a skill. */
  readonly allows: (skill: Skill) => boolean;
  readonly denies: (skill: Skill) => boolean;
  /** All that its tools can read: the catalog and the bound skills. */
  readonly readable: ReadonlyMap<string, Skill>;
}

export function scopeOf(snapshot: Snapshot, agent: Pick<AgentSpec, 'keys' | 'usesSkills'>): SkillScope {
  const settings = agentSkills(agent);
  const bound = new Set(agent.usesSkills.flatMap((name) => findSkill(snapshot, name)?.id ?? []));
  const [allows, { has: denies }] = [matcher(allowedBy(settings)), keptBack(settings.deny, snapshot.all)];
  const offered = [...snapshot.skills.values()].filter((skill) => skill.state === 'offered');
  const visible = settings.mode === 'none' ? [] : offered.filter((skill) => allows(skill) && !denies(skill));
  const catalog = visible.filter((skill) => !bound.has(skill.id));
  const readable = offered.filter((skill) => bound.has(skill.id)).concat(catalog);
  return {
    settings,
    catalog,
    pinned: pinnedIds(catalog, settings.pinned),
    bound,
    allows,
    denies,
    readable: new Map(readable.map((skill) => [skill.id, skill])),
  };
}

/** Ids of `skills`, sorted by id, that an agent's `skills.pinned` means: its entries in their order, what one of them matches by id. */
function pinnedIds(skills: readonly Skill[], pinned: readonly string[]): readonly string[] {
  return [...new Set(pinned.flatMap((entry) => skills.filter(matcher([entry])).map(({ id }) => id)))];
}

function allowedBy({ scope, allow, pinned }: AgentSkills): readonly string[] {
  return scope === 'declared' ? [...allow.filter((glob) => glob !== '*'), ...pinned] : allow;
}

/** Says of a skill that an agent does not see, and does not carry either, what leaves it out. */
export function reasonsOf({ settings, denies }: SkillScope): (skill: Skill) => string {
  return (skill) => {
    if (skill.state !== 'offered') return skill.reason === null ? skill.state : `${skill.state}: ${skill.reason}`;
    if (settings.mode === 'none') return "the agent's skills.mode is none";
    if (denies(skill)) return "the agent's skills.deny names it";
    return `the agent's skills.allow does not name it${settings.scope === 'declared' ? ' (skills.scope is declared)' : ''}`;
  };
}

/** The skill that an agent means by an id, a unique display name or `source/id`; undefined when it may not see it. */
export function findReadable(snapshot: Snapshot, scope: SkillScope, name: string): Skill | undefined {
  const skill = findSkill(snapshot, name);
  if (skill === undefined || !USABLE.has(skill.state) || !scope.readable.has(skill.id)) return undefined;
  const isMeant = scope.allows(skill) && !scope.denies(skill); // the agent's lists may name the one and not the other
  return skill.state === 'offered' || scope.bound.has(skill.id) || isMeant ? skill : undefined;
}

/** A shadowed skill is used by those who name its source. */
const USABLE: ReadonlySet<SkillState> = new Set(['offered', 'shadowed']);

/** The values of the agent key `skills`; throws when they are not valid. */
export function agentSkills(agent: Pick<AgentSpec, 'keys'>): AgentSkills {
  return agent.keys.skills === undefined ? DEFAULTS : agentSkillsSchema().parse(agent.keys.skills);
}

const DEFAULTS: AgentSkills = { mode: 'catalog', allow: ['*'], deny: [], scope: 'all', learn_examples: true, pinned: [] };
