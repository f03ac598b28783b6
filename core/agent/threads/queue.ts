import { type Clock, PithError } from '../../contract/index.ts';
import { KeyedQueue, untilAborted } from '@pith/promises';
import type { Fence, Lease, Leases } from '../../store/index.ts';

/** The right to work on one thread. */
export interface ThreadHold {
  /** Aborts with `thread_busy` when the lease was lost: another process may work on the thread now. */
  readonly lost: AbortSignal;
  /** Aborts when somebody asked for the end of what is done here: its reason says who. */
  readonly stopped: AbortSignal;
  /** For every write that is made while it is held. */
  readonly fence: Fence;
  /** Lets the next one in. Once; later calls do nothing. */
  release(): Promise<void>;
}

export interface ThreadQueue {
  /**
   * Waits for its turn: first come, first served in this process; `thread_busy` when another process keeps the thread. `caller`: the thread
   * whose turn calls one in this thread.
   */
  acquire(threadId: string, signal?: AbortSignal, caller?: string): Promise<ThreadHold>;
  /** Runs `task` while holding the thread. */
  run<T>(threadId: string, task: (hold: ThreadHold) => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** Short, so that after `kill -9` the thread is free again soon; longer than the event loop is ever blocked. */
const LEASE_MS = 3_000;
/** Longer than a lease, so that one left by a dead process is waited out. */
const WAIT_MS = 5_000;
const PAUSE_MS = 100;
const PREFIX = 'thread:';

/** One queue per thread; threads run side by side. */
export function createThreadQueue(leases: Pick<Leases, 'acquire'>, clock: Clock): ThreadQueue {
  const turns = new KeyedQueue();

  async function acquire(threadId: string, signal?: AbortSignal): Promise<ThreadHold> {
    signal?.throwIfAborted();
    const { entered, leave } = turns.place(threadId);
    try {
      await (signal === undefined ? entered : untilAborted(entered, signal));
      const lease = await take(leases, clock, threadId, signal);
      const lost = new AbortController();
      lease.lost.addEventListener('abort', () => lost.abort(threadTaken(lease.fence, lease.lost.reason)), { once: true });
      return {
        lost: lost.signal,
        stopped: lease.stopped,
        fence: lease.fence,
        async release() {
          await lease.release().finally(leave);
        },
      };
    } catch (error) {
      leave();
      throw error;
    }
  }

  return queueOf(acquire);
}

export function queueOf(acquire: ThreadQueue['acquire']): ThreadQueue {
  return {
    acquire,
    async run(threadId, task, signal) {
      const hold = await acquire(threadId, signal);
      try {
        return await task(hold);
      } finally {
        await hold.release();
      }
    },
  };
}

async function take(leases: Pick<Leases, 'acquire'>, clock: Clock, threadId: string, signal?: AbortSignal): Promise<Lease> {
  const end = clock.now() + WAIT_MS;
  for (;;) {
    const lease = await leases.acquire(`${PREFIX}${threadId}`, LEASE_MS);
    if (lease !== null && signal?.aborted) {
      await lease.release();
      signal.throwIfAborted();
    }
    if (lease !== null) return lease;
    if (clock.now() >= end) {
      throw new PithError('thread_busy', `thread '${threadId}' is in use by another process`, {
        where: threadId,
        retryable: true,
        cure: 'wait until it has ended, or use another thread',
      });
    }
    await clock.sleep(PAUSE_MS, signal);
  }
}

/** Work on threads, in whichever process. */
export interface ThreadWork {
  isHeld(threadId: string): Promise<boolean>;
  /** Whether what was asked to stop has ended, within 10 s; null: nobody works on the thread. What comes after it is not stopped. */
  stop(threadId: string, by: string, signal?: AbortSignal): Promise<boolean | null>;
}

/** So long a stop waits for the end: a tool may need a moment. */
const STOP_MS = 10_000;

export function createThreadWork(leases: Pick<Leases, 'isHeld' | 'askToStop' | 'isHolder'>, clock: Clock): ThreadWork {
  return {
    isHeld: (threadId) => leases.isHeld(`${PREFIX}${threadId}`, LEASE_MS),
    async stop(threadId, by, signal) {
      const asked = await leases.askToStop(`${PREFIX}${threadId}`, by);
      if (asked === null) return null;
      const end = clock.now() + STOP_MS;
      while (await leases.isHolder(asked)) {
        if (clock.now() >= end) return false;
        await clock.sleep(PAUSE_MS, signal);
      }
      return true;
    },
  };
}

/** The thread whose lease this is of. */
export function threadOf({ name }: Fence): string {
  return name.slice(PREFIX.length);
}

/** For a stalled process that wakes up after another one has taken its thread. */
export function threadTaken(fence: Fence, cause?: unknown): PithError {
  const threadId = threadOf(fence);
  return new PithError('thread_busy', `thread '${threadId}' is no longer locked by this process, which did not run for too long`, {
    where: threadId,
    retryable: true,
    cure: 'what was done until then is kept; send the message again',
    cause,
  });
}
