import type { TurnInfo } from '../../contract/index.ts';

/** The correlation id of the message for which something is called: its turn or its delivery stands among the arguments. */
export function correlationOf(values: readonly unknown[]): string | undefined {
  for (const value of values) {
    const { turn, correlationId } = (typeof value === 'object' && value !== null ? value : {}) as Partial<TurnInfo> & { turn?: TurnInfo };
    const found = turn?.correlationId ?? correlationId;
    if (typeof found === 'string') return found;
  }
  return undefined;
}
