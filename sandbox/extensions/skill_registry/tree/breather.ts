import { setImmediate as breathe } from 'node:timers/promises';

/** Work between two yields, where one look at a file counts 1: about 5 ms. */
const SLICE = 400;

/** Lets others work now and then. One for a whole piece of work, however many folders it goes through. */
export class Breather {
  #spent = 0;

  /** To be awaited where it is not null. */
  spend(cost: number): Promise<void> | null {
    this.#spent += cost;
    if (this.#spent < SLICE) return null;
    this.#spent = 0;
    return breathe();
  }
}

/** Does the work, letting others work where it yields. */
export async function inPieces<T>(work: Generator<void, T>): Promise<T> {
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return step.value;
    await breathe();
  }
}
