import type { Clock } from '../contract/index.ts';

export interface FakeClock extends Clock {
  /** Moves time on, running what falls due in order, and lets what that started settle between. */
  advance(ms: number): Promise<void>;
  /** Timers and sleeps that wait now. */
  pending(): number;
}

interface Timer {
  readonly due: number;
  readonly order: number;
  readonly run: () => void;
}

/** Time stays as it is until `advance`. Begins at 2026-01-01T00:00:00Z unless another time is given. */
export function fakeClock(start: number = Date.UTC(2026, 0, 1)): FakeClock {
  let now = start;
  let order = 0;
  const timers = new Set<Timer>();

  const after = (ms: number, run: () => void) => {
    const timer: Timer = { due: now + Math.max(0, ms), order: order++, run };
    timers.add(timer);
    return () => void timers.delete(timer);
  };

  return {
    now: () => now,
    after,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const cancel = after(ms, () => {
          signal?.removeEventListener('abort', abort);
          resolve();
        });
        const abort = () => {
          cancel();
          reject(signal?.reason);
        };
        signal?.addEventListener('abort', abort, { once: true });
      }),
    async advance(ms) {
      const until = now + ms;
      await settle();
      for (let next = earliest(timers, until); next; next = earliest(timers, until)) {
        timers.delete(next);
        now = Math.max(now, next.due);
        next.run();
        await settle();
      }
      now = until;
    },
    pending: () => timers.size,
  };
}

function earliest(timers: ReadonlySet<Timer>, until: number): Timer | undefined {
  return [...timers].filter((timer) => timer.due <= until).sort((a, b) => a.due - b.due || a.order - b.order)[0];
}

async function settle(): Promise<void> {
  for (let round = 0; round < 3; round++) await new Promise((resolve) => setImmediate(resolve));
}
