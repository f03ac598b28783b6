import type { Retain, TurnInfo } from 'pith';
import type { Familiarity, LoadedSkill, MatchedSkill, SkillLoad } from './skill-use.ts';

interface Held {
  readonly load: SkillLoad;
  readonly turnId: string;
  /** The turn's number in this thread. */
  readonly turn: number;
  /** The thread's number of compactions when it was loaded. */
  readonly compactions: number;
  /** The last compaction that left it whole; that at which it was loaded when there was none since. */
  outlived: number;
}

const LOADS = 200;
/** Turns of one thread whose numbers are known; an older one counts as the oldest of them. */
const TURNS = 64;

/** Which bodies one thread has been given. Bounded: what is forgotten is simply read again. */
export class ThreadLoads {
  readonly #held = new Map<string, Held>();
  readonly #turns = new Map<string, number>();
  /** The turn's number in which a trigger last matched a skill. */
  readonly #matched = new Map<string, number>();
  #count = 0;

  /** The turn's number in this thread: one more than that of the turn before it. */
  enter(turnId: string): number {
    let number = this.#turns.get(turnId);
    if (number === undefined) {
      this.#turns.set(turnId, (number = this.#count += 1));
      const oldest = this.#turns.keys().next();
      if (this.#turns.size > TURNS && !oldest.done) this.#turns.delete(oldest.value);
    }
    return number;
  }

  add(turn: TurnInfo, { again, ...load }: SkillLoad): void {
    const key = keyOf(load);
    const before = this.#held.get(key);
    this.#held.delete(key);
    const kept = again && before !== undefined ? before.load : load;
    const number = this.enter(turn.id);
    this.#held.set(key, { load: kept, turnId: turn.id, turn: number, compactions: turn.compactions, outlived: turn.compactions });
    if (load.how === 'trigger' && !load.carried) this.#match(load.skillId, number);
    const oldest = this.#held.keys().next();
    if (this.#held.size > LOADS && !oldest.done) this.#held.delete(oldest.value);
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

  /** After the thread was compacted for the `compactions`th time: what was kept whole has outlived it. */
  compacted(compactions: number, kept: readonly Retain[]): void {
    for (const held of this.#held.values()) {
      const isKept = kept.some(({ key, digest }) => key === held.load.skillId && digest === held.load.sha256);
      if (isKept && held.outlived === compactions - 1) held.outlived = compactions;
    }
  }

  #match(skillId: string, number: number): void {
    this.#matched.delete(skillId);
    this.#matched.set(skillId, number);
    const oldest = this.#matched.keys().next();
    if (this.#matched.size > LOADS && !oldest.done) this.#matched.delete(oldest.value);
  }
}

/** A body of `uses_skills` stands in the instructions of the turn that carries it, the others in the thread. */
function isHeld(held: Held, turn: TurnInfo): boolean {
  return inThread(held) ? held.outlived === turn.compactions : held.turnId === turn.id;
}

function inThread({ load }: Held): boolean {
  return load.how !== 'uses_skills';
}

function keyOf({ skillId, part, how }: SkillLoad): string {
  return `${how === 'uses_skills' ? 'bound' : (part ?? 'whole')}/${skillId}`;
}
