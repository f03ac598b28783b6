import type { AgentSpec, TurnPolicy } from '../contract/index.ts';
import type { Limits } from './options.ts';

/** The names that turns have for limits. */
const NAMES = { max_turns: 'steps', max_tool_calls: 'toolCalls', max_tokens: 'tokens', time_budget_ms: 'ms', cost: 'cost' } as const;

/** The limit that a turn names at its end. */
export function limitOf(name: string | undefined): keyof Limits | null {
  return NAMES[name as keyof typeof NAMES] ?? null;
}

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

  /** undefined: its time is not limited. */
  get ms(): number | undefined {
    return this.left.ms;
  }

  /** What keeps another turn from doing anything, or null. */
  get spent(): keyof Limits | null {
    return (['steps', 'tokens', 'ms', 'cost'] as const).find((key) => this.left[key] === 0) ?? null;
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
