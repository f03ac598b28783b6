import { within } from '@pith/promises';
import type { Clock } from '../../contract/index.ts';

/** A service at work. */
export interface ServiceRun {
  /** Aborts it; false when it had not ended within `limitMs`. */
  stop(limitMs: number): Promise<boolean>;
}

/** Runs a service until it resolves or is stopped; starts it again after each rejection, later and later. `crashed` hears of each before that, and may stop the run. */
export function superviseService(clock: Clock, run: (signal: AbortSignal) => Promise<void>, crashed: (error: unknown) => void): ServiceRun {
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

/** Crashes that count, oldest first. */
export type Crashes = readonly number[];

export const BREAKER_CRASHES = 3;
export const BREAKER_WINDOW_MS = 5 * 60_000;
export const LONGEST_RESTART_DELAY_MS = 60_000;

/** The crashes of the last five minutes with one more. */
export function withCrash(crashes: Crashes, at: number): Crashes {
  return [...crashes.filter((earlier) => Math.abs(at - earlier) < BREAKER_WINDOW_MS), at];
}

export function isBreakerOpen(crashes: Crashes): boolean {
  return crashes.length >= BREAKER_CRASHES;
}

/** Milliseconds to wait before the n-th restart in a row, from 0: 1 s · 2ⁿ, at most 60 s. */
export function restartDelay(restarts: number): number {
  return Math.min(LONGEST_RESTART_DELAY_MS, 1000 * 2 ** restarts);
}
