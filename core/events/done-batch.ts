interface Waiting {
  readonly event: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Writes down deliveries that are done: those of one tick in one statement. */
export function createDoneBatch(write: (events: readonly number[]) => Promise<void>): (event: number) => Promise<void> {
  let waiting: Waiting[] = [];
  return (event) =>
    new Promise((resolve, reject) => {
      waiting.push({ event, resolve, reject });
      if (waiting.length > 1) return;
      setImmediate(() => {
        const done = waiting;
        waiting = [];
        write(done.map((each) => each.event)).then(
          () => done.forEach((each) => each.resolve()),
          (error: unknown) => done.forEach((each) => each.reject(error)),
        );
      });
    });
}
