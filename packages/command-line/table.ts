import { displayWidth, printableLine } from '@pith/plain-text';

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  /** Applied after the text has been padded or cut. */
  readonly paint?: (text: string, row: Row) => string;
  readonly align?: 'right';
}

/** Aligned columns; the last one is cut to what is left of `width` (0: never). Empty when there are no rows. */
export function renderTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  width: number,
  heading: (text: string) => string = (text) => text,
): string {
  if (rows.length === 0) return '';
  const cells = rows.map((row) => columns.map((column) => flat(column.value(row))));
  const used = columns.map((_, index) => cells.some((line) => line[index] !== '')); // a column that says nothing is left out
  const widths = columns.map((column, index) => Math.max(column.title.length, ...cells.map((line) => displayWidth(line[index] ?? ''))));
  const last = used.lastIndexOf(true);
  const before = widths.reduce((sum, each, index) => (used[index] && index < last ? sum + each + 2 : sum), 0);
  const room = width > 0 ? Math.max(16, width - before) : Infinity;

  const line = (texts: readonly string[], paint: (text: string, index: number) => string): string =>
    texts
      .map((text, index) => ({ text, index }))
      .filter(({ index }) => used[index])
      .map(({ text, index }) =>
        paint(
          index === last && columns[index]?.align !== 'right' ? cut(text, room) : pad(text, widths[index] ?? 0, columns[index]?.align),
          index,
        ),
      )
      .join('  ')
      .trimEnd();

  return [
    line(
      columns.map((column) => column.title),
      (text) => heading(text),
    ),
    ...rows.map((row, number) => line(cells[number] ?? [], (text, index) => columns[index]?.paint?.(text, row) ?? text)),
  ].join('\n');
}

/** What is left for the last column must be so much, else it goes below its row. */
const LEAST_ROOM = 40;
const INDENT = '    ';

/**
 * Rows of plain texts, aligned below a heading, each column as wide as its widest cell; the last is cut to what is left of `width`. A column
 * that says nothing is left out.
 */
export function table(heading: readonly string[], rows: readonly (readonly string[])[], width: number): string {
  const last = heading.length - 1;
  const cells = [heading, ...rows.map((row) => row.map(flat))];
  const used = heading
    .map((_, column) => column)
    .filter((column) => column < last && cells.some((row, at) => at > 0 && row[column] !== ''));
  const widths = heading.map((_, column) => cells.reduce((most, row) => Math.max(most, displayWidth(row[column] ?? '')), 0));
  const room = width - used.reduce((sum, column) => sum + widths[column]! + 2, 0);
  const below = room < LEAST_ROOM && room < widths[last]!;
  const lines: string[] = [];
  cells.forEach((row, at) => {
    const aligned = used.map((column) => pad(row[column]!, widths[column]!)).join('  ');
    if (!below) lines.push(`${aligned}  ${cut(row[last]!, room)}`.trimEnd());
    else
      lines.push(
        aligned.trimEnd(),
        ...(at > 0 && row[last] !== '' ? [INDENT + cut(row[last]!, Math.max(LEAST_ROOM, width - INDENT.length))] : []),
      );
  });
  return lines.join('\n');
}

/** The width that a table may have: what is piped is never cut. */
export function widthOf(io: { readonly interactive: boolean; readonly columns: number }): number {
  return io.interactive ? io.columns || 120 : Infinity;
}

function cut(text: string, room: number): string {
  if (displayWidth(text) <= room) return text;
  let [kept, left] = ['', room - 1];
  for (const { segment } of new Intl.Segmenter().segment(text)) {
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
