import { readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { withTable } from './saved-tables.ts';
import { repository } from './search-data.ts';

/** One figure beside its bounds and what simpler ways reach in the same run. */
export interface Figure {
  readonly figure: string;
  readonly value: number;
  /** As it is shown. */
  readonly shown: string;
  /** What is better: more of it, or less. */
  readonly better: 'more' | 'less';
  readonly must?: number;
  readonly aim?: number;
  /** By the columns after the verdict: substring, FTS5, what the table of word vectors adds, only the turn part. */
  readonly beside?: readonly (string | undefined)[];
}

export interface Table {
  readonly heading: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export function figuresTable(figures: readonly Figure[]): Table {
  return {
    heading: [
      'figure',
      'measured (95 %)',
      'must',
      'aim',
      'verdict',
      'substring',
      'FTS5 name + description',
      'by the table (95 %)',
      'only the turn part',
    ],
    rows: figures.map(({ figure, value, shown, better, must, aim, beside = [] }) => [
      figure,
      shown,
      limit(better, must),
      limit(better, aim),
      verdict(better, value, must, aim),
      ...[0, 1, 2, 3].map((at) => beside[at] ?? ''),
    ]),
  };
}

export function markdownOf({ heading, rows }: Table): string {
  return [heading, heading.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Replaces the table on the page of benchmarks. */
export function writePage(text: string): void {
  const file = path.join(repository, 'docs/benchmarks.md');
  writeFileSync(file, withTable(readFileSync(file, 'utf8'), 'search', text));
}

export function machine(): string {
  return `Node ${process.versions.node}, ${os.cpus().length} cores`;
}

function limit(better: Figure['better'], value: number | undefined): string {
  return value === undefined ? '' : `${better === 'more' ? '≥' : '≤'} ${value.toLocaleString('en')}`;
}

function verdict(better: Figure['better'], value: number, must: number | undefined, aim: number | undefined): string {
  const holds = (bound: number) => (better === 'more' ? value >= bound : value <= bound);
  if (must === undefined || aim === undefined) return '';
  return holds(aim) ? 'aim' : holds(must) ? 'must' : '**missed**';
}
