import type { Clock } from 'pith';

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** Time that moves only by `advance`. With `jump`, a sleep moves it at once. */
export function manualClock({ start = 1_700_000_000_000, jump = false } = {}): Clock & {
  advance(ms: number): void;
  readonly slept: readonly number[];
  pending(): number;
} {
  let now = start;
  let timers: Timer[] = [];
  const slept: number[] = [];

  function advance(ms: number): void {
    const end = now + ms;
    for (;;) {
      const due = timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      timers = timers.filter((timer) => timer !== due);
      now = Math.max(now, due.at);
      due.run();
    }
    now = end;
  }

  function after(ms: number, run: () => void): () => void {
    const timer = { at: now + ms, run };
    timers.push(timer);
    return () => {
      timers = timers.filter((other) => other !== timer);
    };
  }

  return {
    slept,
    advance,
    after,
    now: () => now,
    pending: () => timers.length,
    sleep(ms, signal) {
      slept.push(ms);
      if (signal?.aborted) return Promise.reject(signal.reason);
      return new Promise<void>((resolve, reject) => {
        const cancel = after(ms, resolve);
        signal?.addEventListener('abort', () => (cancel(), reject(signal.reason)), { once: true });
        if (jump) advance(ms);
      });
    },
  };
}
