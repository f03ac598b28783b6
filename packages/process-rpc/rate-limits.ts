const SECOND_MS = 1000;
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_MESSAGES = 20_000;
const MOST_CHARACTERS = 256 * 1024;

/** Counts messages that a process sends on its own. More than fits in a second is a flood, reported once. `now` is monotonic. */
export function floodLimit(flooded: (why: string) => void, now: () => number): (bytes: number) => void {
  const count = countIn(SECOND_MS, now);
  let isReported = false;
  return (size) => {
    const { sum, times } = count(size);
    if (isReported || (sum <= MOST_BYTES && times <= MOST_MESSAGES)) return;
    isReported = true;
    flooded(
      sum > MOST_BYTES
        ? `it sent more than ${MOST_BYTES / 1024 / 1024} MiB in a second`
        : `it sent more than ${MOST_MESSAGES} messages in a second`,
    );
  };
}

/** Limits what one process may log in a second. The rest is dropped and reported once in its place. */
export function logAllowance(
  report: (message: string) => void,
  now: () => number = () => performance.now(),
): (characters: number) => boolean {
  const count = countIn(SECOND_MS, now);
  return (characters) => {
    const { sum } = count(characters);
    if (sum <= MOST_CHARACTERS) return true;
    if (sum - characters <= MOST_CHARACTERS)
      report(`more than ${MOST_CHARACTERS / 1024} KB were to be logged in a second: the rest is left out`);
    return false;
  };
}

/** Counts, beginning again once `windowMs` have gone by. */
export function countIn(windowMs: number, now: () => number): (amount: number) => { readonly sum: number; readonly times: number } {
  let began = -Infinity;
  let sum = 0;
  let times = 0;
  return (amount) => {
    const at = now();
    if (at - began >= windowMs) {
      began = at;
      sum = 0;
      times = 0;
    }
    sum += amount;
    times += 1;
    return { sum, times };
  };
}
