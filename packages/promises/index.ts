export { elapsed, keepAliveClock, systemClock, type Timing } from './machine-clock.ts';
import type { Timing } from './machine-clock.ts';

/** Makes a value when it is first asked for; a failure is retried at the next call. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** As `once`, for a promise; a rejected one is made again at the next call. */
export function oncePromised<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    }));
}

/** True for promises of any implementation. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** The result of `work`, or after `ms` milliseconds what `late` returns or throws (undefined without it). `work` itself is not stopped. */
export function within<T, L = undefined>(
  clock: Pick<Timing, 'after'>,
  ms: number,
  work: PromiseLike<T>,
  late: () => L = () => undefined as L,
): Promise<T | L> {
  let cancel: (() => void) | undefined;
  const over = new Promise<void>((resolve) => (cancel = clock.after(ms, resolve))).then(late);
  return Promise.race([work, over]).finally(() => cancel?.());
}

/** The values as they come, and `idle` after each `ms` in which none does. */
export async function* withIdle<T>(
  values: AsyncIterable<T>,
  clock: Pick<Timing, 'after'>,
  ms: number,
): AsyncGenerator<T | 'idle', void, undefined> {
  const source = values[Symbol.asyncIterator]();
  let next = source.next();
  try {
    for (;;) {
      const step = await within(clock, ms, next, () => 'idle' as const);
      if (step === 'idle') yield step;
      else if (step.done) return;
      else {
        yield step.value;
        next = source.next();
      }
    }
  } finally {
    void next.catch(() => undefined); // whoever left does not hear of it
    await source.return?.();
  }
}

/** Settles as `work` does, or rejects with the signal's reason when it aborts, even if `work` never settles. */
export function untilAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      Promise.resolve(work).catch(() => undefined); // its rejection has no reader any more
      return reject(signal.reason);
    }
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const off = () => signal.removeEventListener('abort', onAbort);
    work.then(
      (value) => (off(), resolve(value)),
      (error) => (off(), reject(error)),
    );
  });
}

/** Runs work of the same key one after the other, in the order of the calls. */
export class KeyedQueue {
  private readonly last = new Map<string, Promise<unknown>>();

  /** Whether work of this key has not ended. */
  isBusy(key: string): boolean {
    return this.last.has(key);
  }

  /** A place for work that is more than one function. `entered` resolves once all before has ended; what comes later waits until `leave`. */
  place(key: string): { readonly entered: Promise<void>; leave(): void } {
    let leave = (): void => undefined;
    const left = new Promise<void>((resolve) => (leave = resolve));
    const entered = new Promise<void>((enter) => void this.run(key, () => (enter(), left)));
    return { entered, leave };
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(key) ?? Promise.resolve();
    const own = before.then(work);
    const ended = own.catch(() => undefined); // the caller gets the rejection
    this.last.set(key, ended);
    try {
      return await own;
    } finally {
      if (this.last.get(key) === ended) this.last.delete(key);
    }
  }
}
