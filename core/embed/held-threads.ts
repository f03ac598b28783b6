import { AsyncLocalStorage } from 'node:async_hooks';
import { PithError } from '../contract/index.ts';
import { KeyedQueue, untilAborted } from '@pith/promises';

interface Hold {
  readonly thread: string;
  readonly outer: Hold | undefined;
  isOver: boolean;
}

/** Lets others have the thread until `ask` has settled; then the thread is held again. */
export type Apart = <T>(ask: () => Promise<T>) => Promise<T>;

/** Who of a program uses which thread: one after the other, in the order of the calls. */
export class HeldThreads {
  readonly #holds = new AsyncLocalStorage<Hold>();
  readonly #order = new KeyedQueue();

  /** Runs `work` when all that was asked for before in the thread has left it. Rejects `thread_busy` where that would wait for itself, and when `signal` aborts before. */
  async hold<T>(thread: string, signal: AbortSignal, work: (apart: Apart) => Promise<T>): Promise<T> {
    this.#requireFree(thread);
    const hold: Hold = { thread, outer: this.#holds.getStore(), isOver: false };
    let place = this.#order.place(thread);
    const apart: Apart = async (ask) => {
      place.leave();
      try {
        return await ask();
      } finally {
        place = this.#order.place(thread);
        await untilAborted(place.entered, signal);
      }
    };
    try {
      await untilAborted(place.entered, signal);
      return await this.#holds.run(hold, () => work(apart));
    } finally {
      place.leave();
      hold.isOver = true;
    }
  }

  /** A tool or a callback of a run in the thread would wait for the run that waits for it. */
  #requireFree(thread: string): void {
    for (let hold = this.#holds.getStore(); hold !== undefined; hold = hold.outer) {
      if (hold.thread !== thread || hold.isOver) continue;
      throw new PithError('thread_busy', `thread '${thread}' is in use by the run that called this code`, {
        cure: 'use another thread, or wait until that run has ended',
      });
    }
  }
}
