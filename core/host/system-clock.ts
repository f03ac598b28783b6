import type { Clock } from '../contract/index.ts';

/** The machine's clock. Timers of `after` do not keep the process alive; those of `sleep` do. */
export function systemClock(): Clock {
  return SYSTEM;
}

/** Milliseconds since the process began, which no change of the machine's clock touches. For limits on what happens in real time. */
export function elapsed(): number {
  return performance.now();
}

const SYSTEM: Clock = {
  now: () => Date.now(),
  sleep(ms, signal) {
    return new Promise<void>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, ms);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  },
  after(ms, run) {
    const timer = setTimeout(run, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
