import { elapsed } from '../system-clock.ts';

const WINDOW_MS = 1000;
const MOST_CHARACTERS = 256 * 1024;

/** What one process may have logged in a second. More is left out, and told once in its place. */
export function logAllowance(tell: (message: string) => void, now: () => number = elapsed): (characters: number) => boolean {
  let began = -Infinity;
  let used = 0;
  return (characters) => {
    const at = now();
    if (at - began >= WINDOW_MS) {
      began = at;
      used = 0;
    }
    const isFirst = used <= MOST_CHARACTERS;
    used += characters;
    if (used <= MOST_CHARACTERS) return true;
    if (isFirst) tell(`more than ${MOST_CHARACTERS / 1024} KB were to be logged in a second: the rest is left out`);
    return false;
  };
}
