import { elapsed } from '../system-clock.ts';

const WINDOW_MS = 1000;
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_MESSAGES = 20_000;

/** Counts what a process begins by itself; more than fits in a second is a flood, told once. `now` never goes back. */
export function floodLimit(flooded: (why: string) => void, now: () => number = elapsed): (bytes: number) => void {
  let began = -Infinity;
  let bytes = 0;
  let messages = 0;
  let told = false;
  return (size) => {
    const at = now();
    if (at - began >= WINDOW_MS) {
      began = at;
      bytes = 0;
      messages = 0;
    }
    bytes += size;
    messages += 1;
    if (told || (bytes <= MOST_BYTES && messages <= MOST_MESSAGES)) return;
    told = true;
    flooded(
      bytes > MOST_BYTES
        ? `it sent more than ${MOST_BYTES / 1024 / 1024} MiB in a second`
        : `it sent more than ${MOST_MESSAGES} messages in a second`,
    );
  };
}
