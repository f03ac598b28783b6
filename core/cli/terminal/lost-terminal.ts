import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { isatty } from 'node:tty';

const STANDARD = [0, 1, 2];

/** To be called while the terminal is there: the standard streams that are one. */
export function openTerminals(): readonly number[] {
  return STANDARD.filter((descriptor) => isatty(descriptor));
}

/**
 * Lets go of those terminals that are gone; true where there was one. At its end Node gives a terminal the modes that it had, and aborts
 * where that fails: with a trace, and where cores are kept with all of its memory on disk.
 */
export function letGoOfLost(terminals: readonly number[]): boolean {
  const lost = terminals.filter((descriptor) => !isatty(descriptor)); // one that is gone answers no question, and is none to `isatty`
  for (const descriptor of lost) {
    closeSync(descriptor);
    openSync(devNull, 'r+'); // takes the number at once: nothing that is still printed may reach a file which another thread opens
  }
  return lost.length > 0;
}
