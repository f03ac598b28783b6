/** A call that has been made and not been answered. */
export interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
  part?(value: unknown): void;
}

/** The call, with `done` before its end. */
export function whenEnded(call: Waiting, done: () => void): Waiting {
  return {
    ...call,
    resolve(value) {
      done();
      call.resolve(value);
    },
    reject(error) {
      done();
      call.reject(error);
    },
  };
}
