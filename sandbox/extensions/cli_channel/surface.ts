import type { Terminal } from './terminal.ts';

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
