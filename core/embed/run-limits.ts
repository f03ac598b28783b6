import type { AgentSpec, TurnPolicy } from '../contract/index.ts';
import type { Limits } from './options.ts';

/** Limits as a turn has them. */
export function policyOf({ steps, toolCalls, tokens, ms }: Omit<Limits, 'cost'>): Partial<AgentSpec['limits']> {
  return {
    ...(steps === undefined ? {} : { max_turns: steps }),
    ...(toolCalls === undefined ? {} : { max_tool_calls: toolCalls }),
    ...(tokens === undefined ? {} : { max_tokens: tokens }),
    ...(ms === undefined ? {} : { time_budget_ms: ms }),
  };
}

/** The limits of a run, which its turns share: where several set one, the smallest holds. */
export class RunLimits {
  private left: Limits;

  constructor(...given: readonly Limits[]) {
    const set = given.flatMap((limits) => (Object.entries(limits) as [keyof Limits, number | undefined][]).filter(isSet));
    this.left = set.reduce<Limits>((least, [key, amount]) => ({ ...least, [key]: Math.min(amount, least[key] ?? amount) }), {});
  }

  spend(used: Limits): void {
    const { left } = this;
    const entries = Object.entries(used) as [keyof Limits, number][];
    const changed = entries.flatMap(([key, amount]) => (left[key] === undefined ? [] : [[key, Math.max(0, left[key] - amount)]]));
    this.left = { ...left, ...(Object.fromEntries(changed) as Limits) };
  }

  /** Whether another turn could do nothing. */
  get isSpent(): boolean {
    const { steps, tokens, ms, cost } = this.left;
    return [steps, tokens, ms, cost].includes(0);
  }

  /** What is left for the next turn. */
  get policy(): Pick<TurnPolicy, 'limits' | 'maxCost'> {
    const { cost } = this.left;
    return { limits: policyOf(this.left), ...(cost === undefined ? {} : { maxCost: cost }) };
  }
}

function isSet(entry: readonly [keyof Limits, number | undefined]): entry is [keyof Limits, number] {
  return entry[1] !== undefined;
}
