/** The streams of a terminal, or what replaces them in tests. */
export interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
}

/** Raw streams, because a conversation edits lines and shows words as they come. */
export function processTerminal(): Terminal {
  return {
    get input() {
      return process.stdin; // opened by the first who reads it
    },
    output: process.stdout,
  };
}

/** A terminal that does not know its width reports nothing or 0. */
export function widthOf({ output }: Terminal): number {
  return output.columns || 80;
}

/** Where a turn is shown. */
export interface Surface {
  write(text: string): void;
  /** Shows rows that last only while something is awaited, in the place of those before. */
  live(rows: readonly string[]): void;
  /** How many such rows are shown at most; 0: none. */
  readonly liveRows: number;
}

/** A terminal that nobody else writes to: one live row, which goes before anything is printed. */
export function directSurface({ output }: Terminal): Surface {
  let isShown = false;
  const clear = () => {
    if (isShown) output.write('\r\u001b[2K');
    isShown = false;
  };
  return {
    write(text) {
      clear();
      output.write(text);
    },
    live([row]) {
      clear();
      if (row === undefined) return;
      output.write(row);
      isShown = true;
    },
    liveRows: 1,
  };
}
