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
