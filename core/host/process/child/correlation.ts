import { AsyncLocalStorage } from 'node:async_hooks';

const correlations = new AsyncLocalStorage<string | undefined>();

/** Runs what serves a call, so that all that it logs, publishes and asks for carries the id of the message that caused it. */
export function underCorrelation<T>(correlationId: string | undefined, run: () => T): T {
  return correlationId === undefined ? run() : correlations.run(correlationId, run);
}

export function currentCorrelation(): string | undefined {
  return correlations.getStore();
}
