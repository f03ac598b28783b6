import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** The lines of `input`; nothing is read, and the process not kept alive, before the first is asked for. */
export function inputLines(input: () => Readable): AsyncIterable<string> {
  return {
    async *[Symbol.asyncIterator]() {
      const lines = createInterface({ input: input(), crlfDelay: Infinity });
      try {
        yield* lines;
      } finally {
        lines.close();
      }
    },
  };
}
