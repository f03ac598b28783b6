/** The same values; ends when `signal` aborts, also while the next one is awaited. */
export async function* untilAborted<T>(values: Iterable<T> | AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = Symbol.asyncIterator in values ? values[Symbol.asyncIterator]() : values[Symbol.iterator]();
  let abort = () => {};
  const aborted = new Promise<null>((resolve) => {
    abort = () => resolve(null);
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    while (!signal.aborted) {
      const next = await Promise.race([Promise.resolve(iterator.next()), aborted]);
      if (next === null || next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', abort);
    void Promise.resolve(iterator.return?.()).catch(() => undefined); // its end is of no interest: nobody reads on
  }
}
