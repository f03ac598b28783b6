import type { AgentLimits } from '../../contract/index.ts';
import { callers } from './call-tree.ts';
import type { RunningTurn, TurnEnd } from './turn-types.ts';

/** What the time budget of `turn` aborts it and all that it called with. */
export class TimeBudgetSpent extends Error {
  readonly turn: RunningTurn;

  constructor(turn: RunningTurn) {
    super('the time budget of the turn is spent');
    this.name = 'TimeBudgetSpent';
    this.turn = turn;
  }
}

/** A limit, and whose it is: the turn's own or that of a turn which called it. */
export interface ReachedLimit {
  readonly limit: keyof AgentLimits;
  readonly of: RunningTurn;
}

/** The limit that forbids another model step, or null. */
export function limitReached(turn: RunningTurn): ReachedLimit | null {
  for (const of of callers(turn)) {
    const { limits } = of.plan;
    const { steps, delegated, usage } = of.progress;
    if (steps + delegated.steps >= limits.max_turns) return { limit: 'max_turns', of };
    if (usage.inputTokens + usage.outputTokens >= limits.max_tokens) return { limit: 'max_tokens', of };
  }
  return timeSpent(turn.signal);
}

/** Whose time budget aborted, or null. */
export function timeSpent({ aborted, reason }: AbortSignal): ReachedLimit | null {
  return aborted && reason instanceof TimeBudgetSpent ? { limit: 'time_budget_ms', of: reason.turn } : null;
}

/** How many calls may still be made, and whose limit says so. */
export function callsLeft(turn: RunningTurn): ReachedLimit & { readonly calls: number } {
  let least = { limit: 'max_tool_calls' as const, of: turn, calls: Infinity };
  for (const of of callers(turn)) {
    const calls = Math.max(0, of.plan.limits.max_tool_calls - of.progress.calls - of.progress.delegated.calls);
    if (calls < least.calls) least = { ...least, of, calls };
  }
  return least;
}

/** Says which limit ended the turn and what was done so far. */
export function limitEnd(turn: RunningTurn, { limit, of }: ReachedLimit): TurnEnd {
  const used = turn.progress.usage.inputTokens + turn.progress.usage.outputTokens;
  const { id } = of.plan.spec;
  const whose = of === turn ? '' : ` of '${id}', which called this agent`;
  const done = [count(turn.progress.steps, 'model step'), calls(turn), ...delegated(turn), count(used, 'token')].join(', ');
  const message = `stopped at ${limit} (${of.plan.limits[limit]})${whose}; so far: ${done}; send another message to go on, or raise limits.${limit} of '${id}'`;
  return { reason: 'limit', error: { code: 'limit_reached', message } };
}

function calls(turn: RunningTurn): string {
  const each = [...turn.progress.called].map(([name, times]) => (times === 1 ? name : `${name} × ${times}`));
  return each.length === 0 ? count(turn.progress.calls, 'tool call') : `${count(turn.progress.calls, 'tool call')} (${each.join(', ')})`;
}

function delegated({ progress }: RunningTurn): readonly string[] {
  const { turns, steps, calls: made } = progress.delegated;
  return turns === 0 ? [] : [`${count(turns, 'delegated turn')} (${count(steps, 'model step')}, ${count(made, 'tool call')})`];
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
