import type { ToolResult, TurnInfo } from 'pith';
import type { StoredLoad, StoredThread } from './ledger-rows.ts';
import type { Familiarity, LoadedSkill, MatchedSkill, SkillLoad } from './skill-use.ts';

interface Held extends StoredLoad {
  /** The turn's number in this thread; 0: older than all that are known. */
  readonly turn: number;
  /** `outlived`: the last compaction that left it whole; that at which it was loaded when there was none since. */
  outlived: number;
}

export const LOADS = 200;
/** Turns of one thread whose numbers are known; an older one counts as the oldest of them. */
export const TURNS = 64;

/** Which bodies one thread has been given. Bounded: what is forgotten is simply read again. */
export class ThreadLoads {
  readonly #held = new Map<string, Held>();
  readonly #turns = new Map<string, number>();
  /** The turn's number in which a trigger last matched a skill. */
  readonly #matched = new Map<string, number>();
  #count = 0;

  constructor({ turns, loads }: StoredThread = { turns: [], loads: [] }) {
    for (const turnId of turns) this.enter(turnId);
    for (const stored of loads) this.#keep(stored, this.#turns.get(stored.turnId) ?? 0);
  }

  /** The turn's number in this thread: one more than that of the turn before it. */
  enter(turnId: string): number {
    let number = this.#turns.get(turnId);
    if (number === undefined) {
      number = this.#count += 1;
      keepNewest(this.#turns, turnId, number, TURNS);
    }
    return number;
  }

  knows(turnId: string): boolean {
    return this.#turns.has(turnId);
  }

  add({ id: turnId, agent, compactions }: TurnInfo, load: SkillLoad): void {
    this.#keep({ load, turnId, agentId: agent.id, compactions, outlived: compactions }, this.enter(turnId));
  }

  /** The latest first, each skill once; `now`: what this turn is about to load. */
  held(turn: TurnInfo, now: readonly SkillLoad[]): readonly LoadedSkill[] {
    const number = this.#turns.get(turn.id) ?? this.#count + 1;
    const found = new Map<string, LoadedSkill>();
    for (const { skillId, how, sha256 } of [...now].reverse())
      if (!found.has(skillId)) found.set(skillId, { skillId, how, sha256, turnsAgo: 0, compactions: turn.compactions });
    for (const held of [...this.#held.values()].reverse()) {
      const { skillId, how, sha256 } = held.load;
      if (found.has(skillId) || !isHeld(held, turn)) continue;
      found.set(skillId, { skillId, how, sha256, turnsAgo: Math.max(0, number - held.turn), compactions: held.compactions });
    }
    return [...found.values()];
  }

  /** What triggers matched at most `turns` turns ago, the latest first. */
  matched(turn: TurnInfo, turns: number): readonly MatchedSkill[] {
    const number = this.#turns.get(turn.id) ?? this.#count + 1;
    const found = [...this.#matched].map(([skillId, at]) => ({ skillId, turnsAgo: number - at })).reverse();
    return found.filter(({ turnsAgo }) => turnsAgo >= 1 && turnsAgo <= turns);
  }

  /** `same`: it stands above unchanged, so that a pointer will do. After a compaction everything is new. */
  familiarity(turn: TurnInfo, load: SkillLoad): Familiarity {
    const held = [...this.#held.values()].filter(
      (one) => one.load.skillId === load.skillId && inThread(one) && one.compactions === turn.compactions,
    );
    const same = held.find((one) => one.load.sha256 === load.sha256 && (one.load.part === undefined || one.load.part === load.part));
    if (same === undefined) return held.some((one) => one.load.sha256 !== load.sha256) ? 'changed' : 'new';
    return load.callKey !== undefined && same.load.callKey === load.callKey ? 'new' : 'same';
  }

  /** After the thread was compacted for the `compactions`th time: what was kept whole has outlived it. Each skill stands in one list, once. */
  compacted(
    compactions: number,
    kept: readonly NonNullable<Extract<ToolResult, { ok: true }>['retain']>[],
  ): { readonly kept: readonly StoredLoad[]; readonly dropped: readonly StoredLoad[] } {
    const fate = { kept: new Map<string, StoredLoad>(), dropped: new Map<string, StoredLoad>() };
    for (const held of this.#held.values()) {
      if (!inThread(held) || held.outlived !== compactions - 1) continue;
      const isKept = kept.some(({ key, digest }) => key === held.load.skillId && digest === held.load.sha256);
      if (isKept) held.outlived = compactions;
      fate[isKept ? 'kept' : 'dropped'].set(held.load.skillId, held);
    }
    for (const skillId of fate.kept.keys()) fate.dropped.delete(skillId); // an earlier text of it that has gone is no loss
    return { kept: [...fate.kept.values()], dropped: [...fate.dropped.values()] };
  }

  #keep({ load: { again, ...load }, ...stored }: StoredLoad, turn: number): void {
    const key = keyOf(load);
    const before = this.#held.get(key);
    keepNewest(this.#held, key, { ...stored, load: again && before !== undefined ? before.load : load, turn }, LOADS);
    if (load.how !== 'trigger' || load.carried) return;
    keepNewest(this.#matched, load.skillId, turn, LOADS);
  }
}

/** `value` becomes the newest; of more than `limit` the oldest go. */
export function keepNewest<T>(map: Map<string, T>, key: string, value: T, limit: number): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= limit) return;
    map.delete(oldest);
  }
}

/** What `uses_skills` brought stands in the instructions of the turn that carries it; what `run_skill` ran, in another thread. */
function isHeld(held: Held, turn: TurnInfo): boolean {
  if (held.load.how === 'run_skill') return false;
  return inThread(held) ? held.outlived === turn.compactions : held.turnId === turn.id;
}

function inThread({ load: { how } }: Held): boolean {
  return how !== 'uses_skills' && how !== 'run_skill';
}

function keyOf({ skillId, part, how }: SkillLoad): string {
  return `${how === 'uses_skills' || how === 'run_skill' ? how : (part ?? 'whole')}/${skillId}`;
}
