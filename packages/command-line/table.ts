import { displayWidth, graphemes, printableLine, wrapLines } from '@pith/plain-text';

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  /** Colours the text after it has been padded or cut. */
  readonly paint?: (text: string, row: Row) => string;
  readonly align?: 'right';
  /** The last column only: it goes below its row where little room is left, not only where there is too little for any. */
  readonly below?: boolean;
  /** The last column only: it continues in further lines, and nothing of it is cut. */
  readonly wraps?: boolean;
}

/** With less room than this, a last column goes below its row. */
const LEAST_WIDTH = 16;
/** The same for one with `below`. */
const LEAST_ROOM = 40;
const INDENT = '    ';

/**
 * Aligned columns, each as wide as its widest cell. The last one is cut to the rest of `width` (0: never cut). A column whose cells are all
 * empty is left out. Empty when there are no rows.
 */
export function renderTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  width: number,
  heading: (text: string) => string = (text) => text,
): string {
  const shown = columns
    .map((column) => {
      const cells = rows.map((row) => flat(column.value(row)));
      return { ...column, cells, width: cells.reduce((most, text) => Math.max(most, displayWidth(text)), displayWidth(column.title)) };
    })
    .filter(({ cells }) => cells.some((text) => text !== ''));
  const last = shown.at(-1);
  if (last === undefined) return '';
  const room = width > 0 ? width - shown.slice(0, -1).reduce((sum, column) => sum + column.width + 2, 0) : Infinity;
  const isBelow =
    shown.length > 1 && last.align !== 'right' && room < last.width && room < (last.below === true ? LEAST_ROOM : LEAST_WIDTH);
  const lastRoom = Math.max(LEAST_WIDTH, isBelow ? width - INDENT.length : room);
  const indent = isBelow ? INDENT : ' '.repeat(Number.isFinite(room) ? Math.max(0, width - room) : 0);
  const fitted = (text: string, column: typeof last) => {
    if (column !== last || column.align === 'right') return pad(text, column.width, column.align);
    return column.wraps === true ? wrapLines(text, lastRoom) : cut(text, lastRoom);
  };
  const lines = rows.flatMap((row, number) => {
    const texts = shown.map((column) => {
      const text = fitted(column.cells[number]!, column);
      return column.paint?.(text, row) ?? text;
    });
    const before = texts.slice(0, -1);
    const [first = '', ...more] = (texts.at(-1) ?? '').split('\n');
    const indented = (more: readonly string[]) => more.map((line) => indent + line);
    if (!isBelow) return [joined([...before, first]), ...indented(more)];
    return [joined(before), ...(last.cells[number] === '' ? [] : indented([first, ...more]))];
  });
  const titles = shown.map((column) => heading(fitted(column.title, column)));
  const headings = isBelow ? [joined(titles.slice(0, -1)), ...titles.slice(-1).map((title) => indent + title)] : [joined(titles)];
  return [...headings, ...lines].join('\n');
}

/** Columns for rows that are texts, by title. The last one may go below its row. */
export function textColumns(titles: readonly string[]): readonly Column<readonly string[]>[] {
  return titles.map((title, at) => ({ title, value: (row) => row[at] ?? '', below: at === titles.length - 1 }));
}

/** The cells of a column WHO: whose each row is, where one is not of the person who asks. */
export function whoCells(users: readonly string[], own: string): readonly string[] {
  return users.every((user) => user === own) ? users.map(() => '') : users;
}

/** The width for a table; 0 for piped output, which is never cut. */
export function widthOf(io: { readonly interactive: boolean; readonly columns: number }): number {
  return io.interactive ? io.columns || 120 : 0;
}

function joined(texts: readonly string[]): string {
  return texts.join('  ').trimEnd();
}

function cut(text: string, room: number): string {
  if (displayWidth(text) <= room) return text;
  let [kept, left] = ['', room - 1];
  for (const { segment } of graphemes(text)) {
    left -= displayWidth(segment);
    if (left < 0) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}

function pad(text: string, width: number, align?: 'right'): string {
  const spaces = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return align === 'right' ? spaces + text : text + spaces;
}

function flat(text: string): string {
  return printableLine(text.replace(/\s+/gu, ' ').trim());
}
