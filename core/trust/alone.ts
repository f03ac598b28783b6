import { mkdirSync, rmSync } from 'node:fs';
import { codeOf } from '../contract/errors.ts';

const MOST_TRIES = 100;
const TRY_MS = 20;

/** Runs in one process at a time, so that no answer is lost. A lock that was left behind is taken over after two seconds. */
export function alone(lock: string, run: () => void): void {
  for (let tries = 0; tries < MOST_TRIES && !isTaken(lock); tries += 1)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TRY_MS);
  try {
    run();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

function isTaken(lock: string): boolean {
  try {
    mkdirSync(lock, { mode: 0o700 });
    return true;
  } catch (error) {
    if (codeOf(error, '') === 'EEXIST') return false;
    throw error;
  }
}
