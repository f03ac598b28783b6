import { PithError } from '../../contract/errors.ts';
import type { TurnRequest } from '../../contract/index.ts';
import type { RunningTurn } from './turn-types.ts';

/** Where a turn stands among those that called it. */
export interface CallNode {
  /** The turn that called it, while that runs. */
  readonly parent: RunningTurn | null;
  readonly depth: number;
}

/** The turns that run now: who called whom. */
export interface CallTree {
  /** Where a turn stands that is to begin or to go on. Throws `limit_reached`, or `thread_busy` where waiting would never end. */
  node(request: TurnRequest): CallNode;
  began(turn: RunningTurn): void;
  ended(turn: RunningTurn): void;
}

export const MOST_DEPTH = 5;
export const MOST_CHILDREN = 10;

export function createCallTree(): CallTree {
  const running = new Map<string, RunningTurn>();
  return {
    node({ parent: calling, threadId }) {
      if (calling === undefined) return { parent: null, depth: 0 };
      const parent = running.get(calling.id) ?? null;
      const depth = (parent?.record.depth ?? calling.depth) + 1;
      if (depth > MOST_DEPTH) throw limit(`agents call each other ${MOST_DEPTH} deep at most`);
      for (const turn of callers(parent)) {
        if (turn.record.threadId !== threadId) continue;
        throw new PithError('thread_busy', `thread '${threadId}' is in use by a turn that waits for this one`, {
          cure: 'give the called agent a separate thread',
        });
      }
      return { parent, depth };
    },
    began: (turn) => void running.set(turn.record.id, turn),
    ended: (turn) => void running.delete(turn.record.id),
  };
}

/** `turn`, the turn that called it, and so on. */
export function* callers(turn: RunningTurn | null): Generator<RunningTurn, void, undefined> {
  for (let each = turn; each !== null; each = each.parent) yield each;
}

/** Counts a turn that begins; one that goes on was counted when it began. Throws `limit_reached`. */
export function countCalled({ parent }: CallNode): void {
  if (parent === null) return;
  if (parent.progress.delegated.turns >= MOST_CHILDREN) throw limit(`one turn calls ${MOST_CHILDREN} agents at most`);
  parent.progress.delegated.turns += 1;
}

/** Writes what all that called have used through the turn that they wait for: a restart must not give it back to them. */
export function chargeCallers(parent: RunningTurn | null): readonly Promise<void>[] {
  return [...callers(parent)].map(({ writer, record, progress }) => writer.charge(record.id, progress.delegated, progress.usage));
}

/** What a turn uses, its callers have used. */
export function spendTokens(turn: RunningTurn, inputTokens: number, outputTokens: number): void {
  for (const { progress } of callers(turn)) {
    const { usage } = progress;
    progress.usage = { inputTokens: usage.inputTokens + inputTokens, outputTokens: usage.outputTokens + outputTokens };
  }
}

export function spendStep(turn: RunningTurn): void {
  turn.progress.steps += 1;
  for (const caller of callers(turn.parent)) caller.progress.delegated.steps += 1;
}

export function spendCalls(turn: RunningTurn, calls: number): void {
  turn.progress.calls += calls;
  for (const caller of callers(turn.parent)) caller.progress.delegated.calls += calls;
}

function limit(why: string): PithError {
  return new PithError('limit_reached', `not run: ${why}`, { cure: 'do it in this turn, or tell the user what remains' });
}
