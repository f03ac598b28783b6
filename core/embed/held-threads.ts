import { AsyncLocalStorage } from 'node:async_hooks';
import { PithError } from '../contract/index.ts';
import { KeyedQueue, untilAborted } from '@pith/promises';

interface Hold {
  readonly thread: string;
  readonly outer: Hold | undefined;
  isOver: boolean;
}

/** The order in which a program uses its threads, and which are in use by the runs that wait for this code: to wait for one of them would never end. */
export class HeldThreads {
  readonly #holds = new AsyncLocalStorage<Hold>();
  readonly #order = new KeyedQueue();

  /** Begins `work` when all that was asked for before in the thread has `begun`, or ended. Rejects `thread_busy` as `requireFree` throws, and when `signal` aborts before. */
  async hold<T>(thread: string, signal: AbortSignal, work: (begun: () => void) => Promise<T>): Promise<T> {
    this.requireFree(thread);
    const hold: Hold = { thread, outer: this.#holds.getStore(), isOver: false };
    let begun = (): void => undefined;
    const hasBegun = new Promise<void>((resolve) => (begun = resolve));
    const entered = new Promise<void>((enter) => void this.#order.run(thread, () => (enter(), hasBegun)));
    try {
      await untilAborted(entered, signal);
      return await this.#holds.run(hold, () => work(begun));
    } finally {
      begun();
      hold.isOver = true;
    }
  }

  /** Throws `thread_busy` inside a tool or a callback of a run in the thread. */
  requireFree(thread: string): void {
    for (let hold = this.#holds.getStore(); hold !== undefined; hold = hold.outer) {
      if (hold.thread !== thread || hold.isOver) continue;
      throw new PithError('thread_busy', `thread '${thread}' is in use by the run that called this code`, {
        cure: 'use another thread, or wait until that run has ended',
      });
    }
  }
}
