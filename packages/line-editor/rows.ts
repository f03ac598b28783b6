import { displayWidth, graphemes, printable, wrapLines } from '@pith/plain-text';
import type { EditedText } from './edited-text.ts';

/** Colours and their ends. */
// oxlint-disable-next-line no-control-regex
const PAINT = /(\u001b\[[\d;]*m)/u;
const RESET = '\u001b[0m';
const TAB = '    ';

/** The rows into which a terminal wraps the line. Colours have no width and continue in the next row. */
export function breakPainted(line: string, columns: number): readonly string[] {
  const rows: string[] = [];
  let row = '';
  let width = 0;
  for (const [index, part] of line.split(PAINT).entries()) {
    if (index % 2 === 1) {
      row += part;
      continue;
    }
    for (const { segment } of graphemes(part)) {
      const cells = displayWidth(segment);
      if (width + cells > columns && width > 0) {
        rows.push(row);
        row = '';
        width = 0;
      }
      row += segment;
      width += cells;
    }
  }
  return [...rows, row];
}

/** The line cut to `columns`, with `…` for the missing part. Its colours end with it. */
export function clipPainted(line: string, columns: number): string {
  const whole = breakPainted(line, columns);
  const isPainted = PAINT.test(line);
  if (whole.length === 1) return line;
  const [first = ''] = breakPainted(line, Math.max(1, columns - 1));
  return `${first}…${isPainted ? RESET : ''}`;
}

export interface LaidOut {
  readonly rows: readonly string[];
  readonly row: number;
  readonly column: number;
}

/** The rows of a prompt with typed text, and the cursor's place. Further lines are indented like the first line's text. */
export function layOut(prompt: string, { text, cursor }: EditedText, columns: number): LaidOut {
  const rows = wrapLines(prompt.trimEnd(), columns)
    .split('\n')
    .flatMap((line) => breakPainted(line, columns));
  let row = `${rows.pop() ?? ''}${/ *$/u.exec(prompt)?.[0] ?? ''}`;
  let width = widthOf(row);
  const indent = rows.length === 0 && width * 2 <= columns ? width : 0;
  let at = { row: rows.length, column: width };
  const next = () => {
    rows.push(row);
    row = ' '.repeat(indent);
    width = indent;
  };
  for (const { segment, index } of graphemes(text)) {
    if (index === cursor) at = { row: rows.length, column: width };
    if (segment === '\n') {
      next();
      continue;
    }
    const shown = segment === '\t' ? TAB : printable(segment);
    const cells = displayWidth(shown);
    if (width + cells > columns && width > indent) {
      next();
      if (index === cursor) at = { row: rows.length, column: width };
    }
    row += shown;
    width += cells;
  }
  if (cursor >= text.length) {
    if (width >= columns) next();
    at = { row: rows.length, column: width };
  }
  return { rows: [...rows, row], ...at };
}

/** The cells of a line; colours have none. */
export function widthOf(painted: string): number {
  const plain = painted.split(PAINT).filter((_, index) => index % 2 === 0);
  return displayWidth(plain.join(''));
}

/** A sent text as it stays on the screen: whole lines, which the terminal wraps. */
export function sentLines(prompt: string, text: string): string {
  const lead = prompt.includes('\n') ? 0 : widthOf(prompt);
  return prompt + printable(text).replaceAll('\n', `\n${' '.repeat(lead)}`);
}
