import { createHash } from 'node:crypto';
import { KeyedQueue, systemClock } from '@pith/promises';
import { exclusively, type Exclusion } from './exclusive.ts';

/** Runs what changes one place one after the other: in this process in the order in which it came, and beside other processes. */
export class OneAtATime {
  readonly #queue = new KeyedQueue();

  /** The folder of the locks; all who change these places must name the same. */
  constructor(private readonly locks: Omit<Exclusion, 'name'>) {}

  run<T>(place: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const name = `${createHash('sha256').update(place).digest('hex').slice(0, 32)}.lock`;
    return this.#queue.run(place, () => exclusively({ ...this.locks, name }, systemClock, work, signal));
  }
}
