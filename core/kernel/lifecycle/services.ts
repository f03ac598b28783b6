import { within } from '@pith/promises';
import type { Clock } from '../../contract/index.ts';
import { BREAKER_WINDOW_MS, restartDelay } from './crashes.ts';

export interface ServiceOptions {
  readonly clock: Clock;
  run(signal: AbortSignal): Promise<void>;
  /** Told of each rejection, before the service is started again. It may stop the run. */
  crashed(error: unknown): void;
}

/** A service at work. */
export interface ServiceRun {
  /** Aborts it; false when it had not ended within `limitMs`. */
  stop(limitMs: number): Promise<boolean>;
}

/** Runs a service until it resolves or is stopped; starts it again after each rejection, later and later. */
export function superviseService({ clock, run, crashed }: ServiceOptions): ServiceRun {
  const controller = new AbortController();
  const { signal } = controller;

  async function supervise(): Promise<void> {
    let restarts = 0;
    while (!signal.aborted) {
      const began = clock.now();
      try {
        await run(signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (Math.abs(clock.now() - began) >= BREAKER_WINDOW_MS) restarts = 0;
        crashed(error);
      }
      await clock.sleep(restartDelay(restarts++), signal).catch(() => undefined); // stopped: the loop ends
    }
  }

  const ended = supervise();
  return {
    async stop(limitMs) {
      controller.abort();
      return within(
        clock,
        limitMs,
        ended.then(() => true),
        () => false,
      );
    },
  };
}
