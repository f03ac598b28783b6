/** Settles as `work` does, or rejects with the signal's reason as soon as it aborts, even if `work` never settles. */
export async function untilAborted<T>(work: PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const off = () => signal.removeEventListener('abort', onAbort);
    work.then(
      (value) => (off(), resolve(value)),
      (error) => (off(), reject(error)),
    );
  });
}
