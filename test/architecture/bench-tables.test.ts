import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { withTable } from '../bench/saved-tables.ts';

describe('the tables of benchmarks', () => {
  it('a run replaces the tables of its own groups and leaves the rest of the page', () => {
    const page = 'Before.\n<!-- bench start -->\nold\n<!-- /bench -->\nBetween.\n<!-- bench loop -->\n| kept |\n<!-- /bench -->\nAfter.\n';
    expect(withTable(page, 'start', '| new |')).toBe(page.replace('\nold\n', '\n\n| new |\n\n'));
    expect(() => withTable(page, 'kernel', '')).toThrow("has no '<!-- bench kernel -->'");
  });

  it('every group has its place on the page', () => {
    const page = readFileSync('docs/benchmarks.md', 'utf8');
    const groups = [
      ...readFileSync('test/bench/run.ts', 'utf8')
        .split('= {')[1]!
        .split('}')[0]!
        .matchAll(/^ {2}(\w+)/gmu),
    ].map(([, name]) => name);
    for (const group of groups) expect(page).toContain(`<!-- bench ${group} -->`);
  });
});
