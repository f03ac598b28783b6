/** Events from a task to the one who reads them. The writer never waits unless it asks `ready`. */
export interface Pipe<T> extends AsyncIterable<T> {
  push(value: T): void;
  end(): void;
  /** undefined when there is room; else resolves when there is. */
  ready(): Promise<void> | undefined;
}

const ROOM = 256;

export function createPipe<T>(): Pipe<T> {
  let waiting: T[] = [];
  let ended = false;
  let wakeReader: (() => void) | null = null;
  let wakeWriters: (() => void)[] = [];

  const wake = () => {
    wakeReader?.();
    wakeReader = null;
  };
  const release = () => {
    const writers = wakeWriters;
    wakeWriters = [];
    for (const writer of writers) writer();
  };

  return {
    push(value) {
      waiting.push(value);
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    ready() {
      if (waiting.length < ROOM || ended) return undefined;
      return new Promise((resolve) => wakeWriters.push(resolve));
    },
    async *[Symbol.asyncIterator]() {
      try {
        for (;;) {
          const batch = waiting;
          waiting = [];
          release();
          for (const value of batch) yield value;
          if (waiting.length > 0) continue;
          if (ended) return;
          await new Promise<void>((resolve) => (wakeReader = resolve));
        }
      } finally {
        // Nobody reads any more: a writer must not wait for room.
        ended = true;
        release();
      }
    },
  };
}
