import type { AgentLimits } from '../../contract/index.ts';
import type { RunningTurn, TurnEnd } from './turn-types.ts';

/** What the time budget aborts a turn with. */
export class TimeBudgetSpent extends Error {
  constructor() {
    super('the time budget of the turn is spent');
    this.name = 'TimeBudgetSpent';
  }
}

/** The limit that forbids another model step, or null. */
export function limitReached(turn: RunningTurn): keyof AgentLimits | null {
  const { limits } = turn.prepared;
  if (turn.steps >= limits.max_turns) return 'max_turns';
  if (turn.usage.inputTokens + turn.usage.outputTokens >= limits.max_tokens) return 'max_tokens';
  if (turn.signal.aborted && turn.signal.reason instanceof TimeBudgetSpent) return 'time_budget_ms';
  return null;
}

/** Says which limit ended the turn and what was done so far. */
export function limitEnd(turn: RunningTurn, limit: keyof AgentLimits): TurnEnd {
  const used = turn.usage.inputTokens + turn.usage.outputTokens;
  const message = `stopped at ${limit} (${turn.prepared.limits[limit]}); so far: ${count(turn.steps, 'model step')}, ${calls(turn)}, ${count(used, 'token')}; send another message to go on, or raise limits.${limit} of '${turn.prepared.spec.id}'`;
  return { reason: 'limit', error: { code: 'limit_reached', message } };
}

function calls(turn: RunningTurn): string {
  const each = [...turn.called].map(([name, times]) => (times === 1 ? name : `${name} × ${times}`));
  return each.length === 0 ? count(turn.calls, 'tool call') : `${count(turn.calls, 'tool call')} (${each.join(', ')})`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
