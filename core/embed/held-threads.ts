import { AsyncLocalStorage } from 'node:async_hooks';
import { PithError } from '../contract/index.ts';

interface Hold {
  readonly thread: string;
  readonly outer: Hold | undefined;
  isOver: boolean;
}

/** Which threads are in use by the runs that wait for this code: to wait for one of them would never end. */
export class HeldThreads {
  readonly #holds = new AsyncLocalStorage<Hold>();

  /** Rejects `thread_busy` as `requireFree` throws. */
  async hold<T>(thread: string, work: () => Promise<T>): Promise<T> {
    this.requireFree(thread);
    const hold: Hold = { thread, outer: this.#holds.getStore(), isOver: false };
    try {
      return await this.#holds.run(hold, work);
    } finally {
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
