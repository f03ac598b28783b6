import { pathToFileURL } from 'node:url';
import type { AgentSpec, Events, TurnInfo } from 'pith';
import { type FoundSkills, skillsOffered, skillsSearched, type SkillUsed, skillUsed } from './contract.ts';
import type { Offer } from './catalog/scope.ts';
import type { Skill, Snapshot } from './skill.ts';

/** A skill's text that came to a turn. */
export interface SkillLoad extends Pick<SkillUsed, 'skillId' | 'part' | 'again'> {
  readonly state: 'loaded';
  readonly how: 'read_skill' | 'skill' | 'uses_skills' | 'run_skill';
  /** Of the whole SKILL.md. */
  readonly sha256: string;
}

/** What a turn did with a skill. */
export type SkillUse = SkillLoad | { readonly skillId: string; readonly state: 'resource_read'; readonly path: string };

/** How a body that is about to be returned relates to what the thread holds already. */
export type LoadStatus = 'new' | 'same' | 'changed';

export interface SkillTurnsPorts {
  readonly events: Pick<Events, 'publish'>;
  fresh(agent: AgentSpec): Promise<Snapshot>;
  /** A skill as it is now. */
  find(skillId: string): Pick<Skill, 'name' | 'directory'> | undefined;
}

interface Turn {
  /** The skills as they were when it began. */
  readonly snapshot: Promise<Snapshot>;
  /** What its model is shown, said once it has begun. */
  offer: { readonly turn: TurnInfo; readonly offer: Offer } | null;
  /** What came with its message, said once it has begun. */
  readonly uses: { readonly turn: TurnInfo; readonly use: SkillUse }[];
  /** What the tool `skill` loaded in it: ids with the part, each with the digest and the number of compactions. */
  readonly active: Map<string, string>;
}

/** What is kept of each turn, from its beginning to its end, and said of it. What a thread holds the kernel knows: `turn.held`. */
export class SkillTurns {
  readonly #turns = new Map<string, Turn>();

  constructor(private readonly ports: SkillTurnsPorts) {}

  /** A turn that goes on after a question keeps what it began with. */
  begin({ id, agent }: TurnInfo): void {
    if (this.#turns.has(id)) return;
    const snapshot = this.ports.fresh(agent);
    this.#turns.set(id, { snapshot, offer: null, uses: [], active: new Map() });
    snapshot.catch(() => this.#turns.delete(id)); // who asks for it gets the rejection
  }

  end(turnId: string): void {
    this.#turns.delete(turnId);
  }

  /** The snapshot of a turn that has begun; the newest for calls outside of one. */
  snapshotOf({ id, agent }: TurnInfo): Promise<Snapshot> {
    return this.#turns.get(id)?.snapshot ?? this.ports.fresh(agent);
  }

  /** What the model is shown of the skills, when its prompt is made. */
  offered(turn: TurnInfo, offer: Offer): void {
    const known = this.#turns.get(turn.id);
    if (known !== undefined) known.offer = { turn, offer };
  }

  /** The turn is more than a preview: what it did while it was prepared counts. */
  started(turnId: string): void {
    const known = this.#turns.get(turnId);
    if (known?.offer) this.#publishOffer(known.offer);
    for (const { turn, use } of known?.uses.splice(0) ?? []) this.#publish(turn, use);
  }

  record(turn: TurnInfo, use: SkillUse): void {
    const comesWithMessage = use.state === 'loaded' && use.how === 'uses_skills';
    if (comesWithMessage) this.#turns.get(turn.id)?.uses.push({ turn, use });
    else this.#publish(turn, use);
  }

  /** What the model looked for: the words of another agent, a task or a schedule stay where they are. */
  searched({ id: turnId, threadId, agent, correlationId, depth, key }: TurnInfo, query: string, found: Pick<FoundSkills, 'ranked'>): void {
    const isPersons = depth === 0 && key === undefined;
    const fitting = found.ranked.filter(({ weak }) => weak !== true).length;
    const searched = { turnId, threadId, agentId: agent.id, query: isPersons ? query : null, fitting, correlationId };
    this.ports.events.publish(skillsSearched, searched);
  }

  /** Whether the thread holds this text of the skill already. After a compaction everything is new. */
  loadStatus(turn: TurnInfo, load: SkillLoad): LoadStatus {
    const digest = digestOf(load, turn);
    const held = turn.held.filter((each) => each.key === load.skillId && compactionsIn(each.digest) === turn.compactions);
    const version = (each: string) => each.slice(0, load.sha256.length);
    const latest = held.at(-1)?.digest ?? '';
    // What was read last is what counts: an earlier text that is back again is a change.
    if (held.some((each) => each.digest === digest) && version(latest) === load.sha256) return 'same';
    if (latest !== '' && version(latest) !== load.sha256) return 'changed';
    return 'new';
  }

  /** Whether the tool `skill` loaded it in this turn, and no compaction has come since; from now on it has. */
  activate({ id, compactions }: TurnInfo, { skillId, sha256, part = 1 }: SkillLoad): boolean {
    const active = this.#turns.get(id)?.active;
    const now = `${sha256} ${compactions}`;
    const isActive = active?.get(`${skillId} ${part}`) === now;
    active?.set(`${skillId} ${part}`, now);
    return isActive;
  }

  #publishOffer({ turn, offer: { scope, listed, shown = [] } }: NonNullable<Turn['offer']>): void {
    const { id: turnId, threadId, agent, correlationId } = turn;
    const readable = scope.catalog.length;
    const offered = listed === 'all' ? readable : listed.length;
    this.ports.events.publish(skillsOffered, {
      turnId,
      threadId,
      agentId: agent.id,
      offered: listed === 'all' ? 'all' : listed.map(({ id }) => id),
      shown,
      counts: { readable, offered, shown: shown.length },
      correlationId,
    });
  }

  #publish(turn: TurnInfo, use: SkillUse): void {
    const { id: turnId, threadId, agent, correlationId } = turn;
    const facts = this.factsOf(use.skillId);
    this.ports.events.publish(skillUsed, { turnId, threadId, agentId: agent.id, ...facts, ...use, correlationId });
  }

  /** What `skill.used` says of a skill besides its id. */
  factsOf(skillId: string): Pick<SkillUsed, 'skillName' | 'source'> {
    const skill = this.ports.find(skillId);
    if (skill === undefined) return {};
    return { ...(skill.name === skillId ? {} : { skillName: skill.name }), source: pathToFileURL(skill.directory).href };
  }
}

/** How the text of a load is known again: a part of a long one is another text, and one from before a compaction counts no more. */
export function digestOf({ sha256, part }: Pick<SkillLoad, 'sha256' | 'part'>, { compactions }: Pick<TurnInfo, 'compactions'>): string {
  return `${sha256}${part === undefined ? '' : `#${part}`}${compactions === 0 ? '' : `@${compactions}`}`;
}

function compactionsIn(digest: string): number {
  return Number(digest.split('@')[1] ?? 0);
}
