export { elapsed, systemClock, type Timing } from './machine-clock.ts';
import type { Timing } from './machine-clock.ts';

/** Makes a value when it is first asked for; a failure is tried again. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** As `once`, for a promise; one that rejects is made again when it is next asked for. */
export function oncePromised<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    }));
}

/** True for promises, whoever made them. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** What `work` comes to, or after `ms` milliseconds what `late` says or throws, undefined without it; the work is left to itself then. */
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

/** Settles as `work` does, or rejects with the signal's reason as soon as it aborts, even if `work` never settles. */
export function untilAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      Promise.resolve(work).catch(() => undefined); // nobody waits for it any more
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

/** `untilAborted` for one thing after another, such as the parts of a stream: with one listener for all. */
export class AbortableWait {
  readonly #signal: AbortSignal | undefined;
  #fail: (reason: unknown) => void = () => undefined;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
    signal?.addEventListener('abort', this);
  }

  for<T>(work: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#fail = reject;
      if (this.#signal?.aborted) reject(this.#signal.reason);
      work.then(resolve, reject);
    });
  }

  /** Nothing more is waited for. */
  end(): void {
    this.#signal?.removeEventListener('abort', this);
  }

  /** Of the signal. */
  handleEvent(): void {
    this.#fail(this.#signal?.reason);
  }
}

/** Runs what has the same key one after the other, in the order in which it came. */
export class KeyedQueue {
  private readonly last = new Map<string, Promise<unknown>>();

  /** Something of this key has not ended. */
  isBusy(key: string): boolean {
    return this.last.has(key);
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(key) ?? Promise.resolve();
    const own = before.then(work);
    const ended = own.catch(() => undefined); // who asked hears of it
    this.last.set(key, ended);
    try {
      return await own;
    } finally {
      if (this.last.get(key) === ended) this.last.delete(key);
    }
  }
}
