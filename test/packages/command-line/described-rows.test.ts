import { describe, expect, it } from 'vitest';
import { describedRows } from '@pith/command-line';

const ROWS = [
  ['things list', 'List every thing that there is in this folder and below'],
  ['go', ''],
] as const;

describe('names with what they are', () => {
  it('are beside each other, and wrapped in their column', () => {
    expect(describedRows(ROWS, 0)).toEqual(['  things list  List every thing that there is in this folder and below', '  go']);
    expect(describedRows(ROWS, 50)).toEqual([
      '  things list  List every thing that there is in',
      '               this folder and below',
      '  go',
    ]);
  });

  it('go below each other where the terminal leaves little room', () => {
    expect(describedRows(ROWS, 30)).toEqual([
      '  things list',
      '      List every thing that',
      '      there is in this folder',
      '      and below',
      '  go',
    ]);
  });
});
