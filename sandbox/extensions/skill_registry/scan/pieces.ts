import { setImmediate as breathe } from 'node:timers/promises';

/** Does the work, letting others work where it yields. */
export async function inPieces<T>(work: Generator<void, T>): Promise<T> {
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return step.value;
    await breathe();
  }
}
