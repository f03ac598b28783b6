import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { growthPlot } from '../bench/growth-plot.ts';
import { figuresIn, growthOf, seriesOf, tooFast } from '../bench/growth.ts';
import { tablesOf, withTable } from '../bench/saved-tables.ts';
import { heading, linesOf } from '../bench/table.ts';

const at = (median: number) => ({ median, min: median, max: median });
const row = (figure: string, median: number, floor: number | null, note?: string) => ({
  figure,
  unit: 'ms' as const,
  measured: at(median),
  floor: floor === null ? null : at(floor),
  ...(note === undefined ? {} : { note }),
});

describe('the tables of benchmarks', () => {
  it('what is printed is read back as series over their sizes, notes left out', () => {
    const table = linesOf([
      row('cold discovery of 100 skills', 5, 1),
      row('cold discovery of 10,000 skills', 500, 100, 'busy machine'),
      row('boot of 10 extension folders, index valid', 1, 0.5),
      row('boot of 100 extension folders, index valid', 1, 0.5),
      row('CPU of a token, one stream', 3, 1),
    ]);
    const series = seriesOf(figuresIn(heading() + table));
    expect(series.map(({ name, points }) => [name, points.map(({ size }) => size)])).toEqual([
      ['cold discovery of N skills', [100, 10_000]],
      ['boot of N extension folders, index valid', [10, 100]],
    ]);
    expect(growthOf(series[0]!)).toEqual({ measured: 1, work: 1 });
  });

  it('names a figure that grows faster than its work, and no other', () => {
    const series = seriesOf(
      figuresIn(
        linesOf([
          row('sorting of 100 skills', 1, 1),
          row('sorting of 1,000 skills', 90, 10),
          row('reading of 100 skills', 9, 1),
          row('reading of 1,000 skills', 95, 10),
        ]),
      ),
    );
    expect(tooFast(series)).toEqual(['sorting of N skills: grows with the 1.95th power of N, its floor with the 1.00th']);
  });

  it('a run replaces the tables of its own groups and leaves the rest of the page', () => {
    const page = 'Before.\n<!-- bench start -->\nold\n<!-- /bench -->\nBetween.\n<!-- bench loop -->\n| kept |\n<!-- /bench -->\nAfter.\n';
    const saved = withTable(page, 'start', '| new |');
    expect(saved).toBe(page.replace('\nold\n', '\n\n| new |\n\n'));
    expect(tablesOf(saved).replace(/\n+/gu, ' ').trim()).toBe('| new | | kept |');
    expect(() => withTable(page, 'kernel', '')).toThrow("has no '<!-- bench kernel -->'");
  });

  it('every group has its place on the page, and the plot shows what stands there', () => {
    const page = readFileSync('docs/benchmarks.md', 'utf8');
    const groups = [
      ...readFileSync('test/bench/run.ts', 'utf8')
        .split('= {')[1]!
        .split('}')[0]!
        .matchAll(/^ {2}(\w+)/gmu),
    ].map(([, name]) => name);
    for (const group of groups) expect(page).toContain(`<!-- bench ${group} -->`);
    expect(page).toContain('(growth.svg)');
    expect(readFileSync('docs/growth.svg', 'utf8')).toBe(growthPlot(seriesOf(figuresIn(tablesOf(page)))));
  });
});
