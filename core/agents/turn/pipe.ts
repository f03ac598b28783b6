/** Events from a task to the one who reads them. The writer never waits unless it asks `ready`. */
export interface Pipe<T> {
  push(value: T): void;
  end(): void;
  /** undefined when there is room; else resolves when there is. */
  ready(): Promise<void> | undefined;
  /** For one reader, by hand: a generator costs each event several turns of the microtask queue. */
  next(): Promise<IteratorResult<T, undefined>>;
  /** Nobody reads any more: a writer must not wait for room. */
  leave(): void;
}

const ROOM = 256;
const DONE = { done: true, value: undefined } as const;

export function createPipe<T>(): Pipe<T> {
  let batch: T[] = [];
  let at = 0;
  let waiting: T[] = [];
  let ended = false;
  const readers: ((result: IteratorResult<T, undefined>) => void)[] = [];
  let writers: (() => void)[] = [];

  const release = () => {
    if (writers.length === 0) return;
    const released = writers;
    writers = [];
    for (const writer of released) writer();
  };

  const end = () => {
    ended = true;
    for (const reader of readers.splice(0)) reader(DONE);
  };

  return {
    push(value) {
      const reader = readers.shift();
      if (reader) reader({ done: false, value });
      else waiting.push(value);
    },
    end,
    ready() {
      if (waiting.length < ROOM || ended) return undefined;
      return new Promise((resolve) => writers.push(resolve));
    },
    next() {
      if (at === batch.length) {
        if (waiting.length === 0) return ended ? Promise.resolve(DONE) : new Promise((resolve) => readers.push(resolve));
        batch = waiting;
        at = 0;
        waiting = [];
        release();
      }
      return Promise.resolve({ done: false, value: batch[at++] as T });
    },
    leave() {
      batch = [];
      waiting = [];
      at = 0;
      end();
      release();
    },
  };
}
