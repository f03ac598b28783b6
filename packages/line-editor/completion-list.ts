import { displayWidth, printableLine } from '@pith/plain-text';

/** Items that can replace the text from `from` up to the cursor. */
export interface Completion {
  readonly from: number;
  readonly items: readonly string[];
}

export const NOTHING: Completion = { from: 0, items: [] };
const MOST_ROWS = 6;

/** The longest common prefix of all items. */
export function commonBeginning(items: readonly string[]): string {
  let [common = ''] = items;
  for (const item of items) while (!item.startsWith(common)) common = [...common].slice(0, -1).join('');
  return common;
}

/** The items in columns, as many as fit; the last row counts the others. */
export function listRows(items: readonly string[], columns: number): readonly string[] {
  const shown = items.map((item) => printableLine(item));
  const width = Math.min(columns, Math.max(0, ...shown.map(displayWidth)) + 2);
  const each = Math.max(1, Math.floor(columns / width));
  const most = items.length > each * MOST_ROWS ? each * MOST_ROWS - 1 : items.length;
  const cells = [...shown.slice(0, most), ...(most < items.length ? [`… ${items.length - most} more`] : [])];
  const rows: string[] = [];
  for (let at = 0; at < cells.length; at += each)
    rows.push(
      cells
        .slice(at, at + each)
        .map((cell) => cell + ' '.repeat(Math.max(0, width - displayWidth(cell))))
        .join('')
        .trimEnd(),
    );
  return rows;
}
