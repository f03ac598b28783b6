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

/** Lays a prompt with typed text out in rows. Lines that are as they were when it was drawn last are not measured again. */
export class DraftRows {
  #lines: ReadonlyMap<string, readonly Row[]> = new Map();

  /** The rows, and the cursor's place. Further lines are indented like the first line's text. */
  layOut(prompt: string, { text, cursor }: EditedText, columns: number): LaidOut {
    const rows = wrapLines(prompt.trimEnd(), columns)
      .split('\n')
      .flatMap((line) => breakPainted(line, columns));
    const lead = `${rows.pop() ?? ''}${/ *$/u.exec(prompt)?.[0] ?? ''}`;
    const width = widthOf(lead);
    const indent = rows.length === 0 && width * 2 <= columns ? width : 0;
    const lines = new Map<string, readonly Row[]>();
    let at = { row: rows.length, column: width };
    let from = 0;
    for (const line of text.split('\n')) {
      const start = from === 0 ? width : indent;
      const key = `${columns} ${start} ${indent} ${line}`;
      const laid = this.#lines.get(key) ?? layOutLine(line, { columns, start, indent });
      lines.set(key, laid);
      if (cursor >= from && cursor <= from + line.length) {
        const row = laid.findLastIndex((each) => each.from <= cursor - from);
        const before = line.slice(laid[row]?.from ?? 0, cursor - from);
        at = { row: rows.length + row, column: (row === 0 ? start : indent) + displayWidth(shownAs(before)) };
      }
      for (const [index, row] of laid.entries()) rows.push(`${index > 0 || from > 0 ? ' '.repeat(indent) : lead}${row.text}`);
      from += line.length + 1;
    }
    this.#lines = lines;
    if (cursor < text.length || at.column < columns) return { rows, ...at };
    rows.push(' '.repeat(indent)); // the next character begins a row
    return { rows, row: rows.length - 1, column: indent };
  }
}

/** One row of a line; `from`: where it begins in the line. */
interface Row {
  readonly from: number;
  readonly text: string;
}

/** `start`: the column of the first row, `indent`: of those after it. */
function layOutLine(
  line: string,
  { columns, start, indent }: { readonly columns: number; readonly start: number; readonly indent: number },
): readonly Row[] {
  const rows: Row[] = [];
  let row = { from: 0, text: '' };
  let width = start;
  const next = (from: number) => {
    rows.push(row);
    row = { from, text: '' };
    width = indent;
  };
  for (const { segment, index } of graphemes(line)) {
    const shown = shownAs(segment);
    const cells = displayWidth(shown);
    if (width + cells > columns && width > indent) next(index);
    row.text += shown;
    width += cells;
  }
  return [...rows, row];
}

function shownAs(text: string): string {
  return text
    .split('\t')
    .map((part) => printable(part))
    .join(TAB);
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
