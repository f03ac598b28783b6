import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { repository } from './search-data.ts';
import { percent } from './search-needs.ts';
import { interval } from './search-statistics.ts';

/** One value a query, by measure. */
export type Measured = Readonly<Record<string, readonly number[]>>;

const file = path.join(repository, 'test/bench/search-previous.json');
export const COMPARISON_HEADING = ['against the figures kept before', 'before', 'now', 'difference (95 %, paired)'];

/** A line for each measure that was kept: the same queries, resampled together. */
export function comparison(measured: Measured): readonly (readonly string[])[] {
  if (!existsSync(file)) return [];
  const previous = JSON.parse(readFileSync(file, 'utf8')) as Record<string, number[] | string>;
  return Object.entries(measured).flatMap(([measure, now]) => {
    const before = unpacked(previous[measure] ?? []);
    if (before.length !== now.length) return [];
    const differences = now.map((value, at) => value - before[at]!);
    const [low, high] = interval(differences);
    return [[measure, percent(before), percent(now), `${percent(differences)} (${signed(low)} to ${signed(high)})`]];
  });
}

/** Keeps the values for the next comparison; hits and exposures as a text of 0 and 1. */
export function keep(measured: Measured): void {
  const lines = Object.entries(measured).map(([measure, values]) => `  ${JSON.stringify(measure)}: ${JSON.stringify(packed(values))}`);
  writeFileSync(file, `{\n${lines.join(',\n')}\n}\n`);
}

function packed(values: readonly number[]): readonly number[] | string {
  return values.every((value) => value === 0 || value === 1) ? values.join('') : values.map((value) => Number(value.toFixed(4)));
}

function unpacked(values: readonly number[] | string): readonly number[] {
  return typeof values === 'string' ? [...values].map(Number) : values;
}

function signed(value: number): string {
  return (value * 100).toFixed(1);
}
