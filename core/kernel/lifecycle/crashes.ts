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
