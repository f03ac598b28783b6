/** A clock with timers: the machine's, or one that a test moves. */
export interface Timing {
  now(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Returns a function that cancels the timer. */
  after(ms: number, run: () => void): () => void;
}

/** Milliseconds since the process began, unaffected by changes of the system clock. For limits in real time. */
export function elapsed(): number {
  return performance.now();
}

/** Node fires a longer timer at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's clock. Timers of `after` do not keep the process alive; those of `sleep` do. */
export const systemClock: Timing = {
  now: (): number => Date.now(),
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const cancel = startTimer(ms, true, () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      });
      const onAbort = () => {
        cancel();
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  },
  after: (ms: number, run: () => void): (() => void) => startTimer(ms, false, run),
};

/** Timers of the machine that keep the process alive: for what must end before it does. */
export const keepAliveClock: Pick<Timing, 'after'> = {
  after: (ms: number, run: () => void): (() => void) => startTimer(ms, true, run),
};

/** A timer of any length, split into parts that Node supports. Returns its cancel function. */
function startTimer(ms: number, keepsAlive: boolean, run: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const wait = (left: number): void => {
    const piece = Math.min(left, LONGEST_TIMER_MS);
    timer = setTimeout(() => (left > piece ? wait(left - piece) : run()), piece);
    if (!keepsAlive) timer.unref();
  };
  wait(ms);
  return () => clearTimeout(timer);
}
