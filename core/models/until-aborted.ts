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
