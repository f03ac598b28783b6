import { describe, expect, it } from 'vitest';
import { type Column, renderTable, textColumns, widthOf } from '@pith/command-line';

const LONG = 'one two three four five six seven eight nine ten eleven';
const rows = [
  ['a', '', '9', LONG],
  ['日本', '', '10', ''],
];
const titles = ['ID', 'VERSION', 'COUNT', 'DESCRIPTION'];
const plain: readonly Column<readonly string[]>[] = titles.map((title, at) => ({ title, value: (row) => row[at]! }));

describe('a table', () => {
  it('aligns columns by what is seen, leaves out one that says nothing, and is empty without rows', () => {
    expect(renderTable(rows, plain, 0)).toBe(`ID    COUNT  DESCRIPTION\na     9      ${LONG}\n日本  10`);
    expect(renderTable([], plain, 0)).toBe('');
    expect(renderTable([['', '', '', '']], plain, 0)).toBe('');
  });

  it('cuts the last column to the width, and puts it below its row where fewer than 16 columns are left, or 40 where it may', () => {
    expect(renderTable(rows, plain, 60)).toBe(renderTable(rows, textColumns(titles), 60));
    expect(renderTable(rows, plain, 60).split('\n')[1]).toBe('a     9      one two three four five six seven eight nine t…');
    expect(renderTable(rows, plain, 20).split('\n').slice(0, 4)).toEqual([
      'ID    COUNT',
      '    DESCRIPTION',
      'a     9',
      '    one two three f…',
    ]);
    expect(renderTable(rows, textColumns(titles), 45)).toBe(
      'ID    COUNT\n    DESCRIPTION\na     9\n    one two three four five six seven eight…\n日本  10',
    );
    expect(renderTable([[LONG]], textColumns(['ONLY']), 30)).toBe('ONLY\none two three four five six s…');
  });

  it('continues a last column that wraps in lines below it, so that nothing is cut', () => {
    const wraps = textColumns(titles).map((column, at) => ({ ...column, wraps: at === 3 }));
    expect(renderTable(rows.slice(0, 1), wraps, 60).split('\n').slice(1)).toEqual([
      'a   9      one two three four five six seven eight nine ten',
      '           eleven',
    ]);
    expect(renderTable(rows.slice(0, 1), wraps, 45).split('\n').slice(2)).toEqual([
      'a   9',
      '    one two three four five six seven eight',
      '    nine ten eleven',
    ]);
    expect(renderTable(rows, wraps, 0)).toBe(renderTable(rows, plain, 0));
  });

  it('paints what has been aligned, and the titles', () => {
    const painted = plain.map((column) => ({ ...column, align: 'right' as const, paint: (text: string) => `<${text}>` }));
    const [heading, first] = renderTable(rows, painted.slice(0, 3), 0, (text) => `[${text}]`).split('\n');
    expect([heading, first]).toEqual(['[  ID]  [COUNT]', '<   a>  <    9>']);
  });

  it('has the width of the terminal; what is piped is never cut', () => {
    expect(
      [
        { interactive: true, columns: 90 },
        { interactive: true, columns: 0 },
        { interactive: false, columns: 90 },
      ].map(widthOf),
    ).toEqual([90, 120, 0]);
  });
});
