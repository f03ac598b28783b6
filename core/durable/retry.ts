/** A delivery that failed this often is a dead letter. */
export const MOST_ATTEMPTS = 8;

const FIRST_MS = 1000;
/** No attempt waits longer. */
export const LONGEST_MS = 300_000;

/** How long a delivery waits after its `attempts`-th failure: twice as long each time, ± a tenth. `random` is from 0 to 1. */
export function retryDelay(attempts: number, random: number): number {
  const wait = Math.min(LONGEST_MS, FIRST_MS * 2 ** (attempts - 1));
  return Math.min(LONGEST_MS, Math.round(wait * (0.9 + 0.2 * random)));
}

/** How often a delivery may be postponed; from then on each attempt counts. */
export const MOST_POSTPONEMENTS = 60;
