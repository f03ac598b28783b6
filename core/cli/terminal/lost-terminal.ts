import { closeSync, fstatSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { isatty } from 'node:tty';

/**
 * Lets go of standard streams whose terminal is gone; true where there was one. At its end Node gives a terminal the modes that it had,
 * and aborts where that fails: with a trace, and where cores are kept with all of its memory on disk. What is no terminal it leaves alone.
 */
export function letGoOfLostTerminal(): boolean {
  let isLost = false;
  for (const descriptor of [0, 1, 2]) {
    if (!isHungUp(descriptor)) continue;
    isLost = true;
    closeSync(descriptor);
    openSync(devNull, 'r+'); // takes the number at once: nothing that is still printed may reach a file which another thread opens
  }
  return isLost;
}

/** A terminal that is gone answers no question, and is none to `isatty`. */
function isHungUp(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice() && !isatty(descriptor) && !isNull(descriptor);
  } catch {
    return false; // it was never open
  }
}

function isNull(descriptor: number): boolean {
  const file = openSync(devNull, 'r');
  try {
    return fstatSync(descriptor).rdev === fstatSync(file).rdev;
  } finally {
    closeSync(file);
  }
}
