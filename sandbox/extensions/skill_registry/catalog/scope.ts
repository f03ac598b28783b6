import type { AgentSpec } from 'pith';
import { keepNewest } from '@pith/plain-data';
import type { Skill, SkillState, Snapshot } from '../skill.ts';
import { type AgentSkills, agentSkillsSchema } from '../config.ts';
import { findSkill, keptBack, matcher } from '../scan/names.ts';
import { type Catalog, renderCatalog, catalogBudget } from './catalog.ts';

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

interface Entry {
  readonly snapshot: Snapshot;
  readonly scope: SkillScope;
  /** What was made of it, by name. */
  readonly made: Map<string, unknown>;
}

const ENTRIES = 256;

/** Scopes and catalogs by agent, made once per snapshot: an unchanged turn pays for a look-up. */
export class ScopeCache {
  readonly #entries = new Map<string, Entry>();

  scope(snapshot: Snapshot, agent: AgentSpec): SkillScope {
    return this.#entry(snapshot, agent).scope;
  }

  /** The scope, and its catalog for a model's window. */
  view(snapshot: Snapshot, agent: AgentSpec, contextWindow: number | null): { readonly scope: SkillScope; readonly catalog: Catalog } {
    const scope = this.scope(snapshot, agent);
    const budget = scope.settings.budget_tokens ?? catalogBudget(contextWindow);
    const make = () => renderCatalog(scope.catalog, { budget, pinned: scope.pinned });
    return { scope, catalog: this.made(snapshot, agent, `catalog ${budget}`, make) };
  }

  /** What `make` makes for this agent of this snapshot, made once for each `name`. */
  made<T>(snapshot: Snapshot, agent: AgentSpec, name: string, make: () => T): T {
    const { made } = this.#entry(snapshot, agent);
    if (!made.has(name)) made.set(name, make());
    return made.get(name) as T;
  }

  #entry(snapshot: Snapshot, agent: AgentSpec): Entry {
    const key = keyOf(agent);
    let entry = this.#entries.get(key);
    if (entry?.snapshot !== snapshot) {
      entry = { snapshot, scope: scopeOf(snapshot, agent), made: new Map() };
      keepNewest(this.#entries, key, entry, ENTRIES);
    }
    return entry;
  }
}

/** What of an agent the catalog depends on: an agent made at run time may have the id of another. */
function keyOf({ id, keys, usesSkills }: AgentSpec): string {
  return JSON.stringify([id, keys.skills ?? null, usesSkills]);
}

/** The skills that a turn's model was offered. */
export interface Offer {
  readonly scope: SkillScope;
  /** Those of the scope's catalog that have a line in the prompt or in a tool; mostly `all`. */
  readonly listed: 'all' | readonly Skill[];
  /** Ids of the skills that were suggested with this message only. */
  readonly shown?: readonly string[];
}
