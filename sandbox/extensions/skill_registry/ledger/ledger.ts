import type { Retain, TurnInfo } from 'pith';
import type { Familiarity, LoadedSkill, MatchedSkill, SkillLoad, SkillUse } from './skill-use.ts';
import { ThreadLoads } from './thread-loads.ts';

/** Knows what became of each skill in each turn. Nothing here waits, and nothing throws. */
export interface Ledger {
  /** Known at once to this process. What a preview asks for is forgotten with it. */
  record(turn: TurnInfo, use: SkillUse): void;
  /** Skills whose body this thread holds, the latest first. Those of `uses_skills` only in the turn that carries them. */
  loadedIn(turn: TurnInfo): readonly LoadedSkill[];
  /** Skills that a trigger matched in one of the thread's last `turns` turns, the latest first, also those that it holds no longer. */
  matchedIn(turn: TurnInfo, turns: number): readonly MatchedSkill[];
  /** Whether the thread holds this text of the skill already. */
  familiarity(turn: TurnInfo, load: SkillLoad): Familiarity;
}

const THREADS = 1000;
/** More turns than this do not begin at once; the oldest is one that never started. */
const BEGINNING = 256;

export class SkillLedger implements Ledger {
  readonly #threads = new Map<string, ThreadLoads>();
  /** What turns did that are being prepared: only those that start have done it. */
  readonly #beginning = new Map<string, { readonly turn: TurnInfo; readonly uses: SkillUse[] }>();

  /** Called where a turn's prompt is made, before anything is recorded for it. */
  begin(turn: TurnInfo): void {
    this.#beginning.delete(turn.id);
    this.#beginning.set(turn.id, { turn, uses: [] });
    dropOldest(this.#beginning, BEGINNING);
  }

  /** The turn is more than a preview: what it did while it was prepared counts. */
  started(turnId: string): void {
    const begun = this.#beginning.get(turnId);
    if (begun === undefined) return;
    this.#beginning.delete(turnId);
    this.#thread(begun.turn).enter(turnId);
    for (const use of begun.uses) this.#keep(begun.turn, use);
  }

  /** What the thread holds of these is no longer whole. */
  compacted(threadId: string, compactions: number, kept: readonly Retain[]): void {
    this.#threads.get(threadId)?.compacted(compactions, kept);
  }

  record(turn: TurnInfo, use: SkillUse): void {
    const begun = this.#beginning.get(turn.id);
    if (begun === undefined) this.#keep(turn, use);
    else begun.uses.push(use);
  }

  loadedIn(turn: TurnInfo): readonly LoadedSkill[] {
    const thread = this.#thread(turn);
    const now = (this.#beginning.get(turn.id)?.uses ?? []).filter((use) => use.state === 'loaded');
    return thread.held(turn, now);
  }

  matchedIn(turn: TurnInfo, turns: number): readonly MatchedSkill[] {
    return this.#thread(turn).matched(turn, turns);
  }

  familiarity(turn: TurnInfo, load: SkillLoad): Familiarity {
    return this.#thread(turn).familiarity(turn, load);
  }

  #keep(turn: TurnInfo, use: SkillUse): void {
    if (use.state === 'loaded') this.#thread(turn).add(turn, use);
  }

  #thread({ threadId }: TurnInfo): ThreadLoads {
    const thread = this.#threads.get(threadId) ?? new ThreadLoads();
    this.#threads.delete(threadId);
    this.#threads.set(threadId, thread);
    dropOldest(this.#threads, THREADS);
    return thread;
  }
}

function dropOldest(map: Map<string, unknown>, limit: number): void {
  for (const key of map.keys()) {
    if (map.size <= limit) return;
    map.delete(key);
  }
}
