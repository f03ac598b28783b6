import { performance } from 'node:perf_hooks';
import { createRanker } from '../../sandbox/extensions/skill_registry/search/bm25f.ts';
import type { StoredRanker } from '../../sandbox/extensions/skill_registry/search/ranker.ts';
import { liveBytes } from './measure.ts';
import type { Pool } from './search-data.ts';
import { rankerOf } from './search-rankers.ts';

export const SCALE_HEADING = ['skills', 'built in', 'memory', 'stored', 'written in', 'read in', 'longest pause'];

/** The pool's ranker, and what it took to make, keep and bring it back. */
export function built(pool: Pool): { readonly ranker: StoredRanker; readonly line: readonly string[] } {
  const before = liveBytes();
  const started = performance.now();
  const ranker = rankerOf(pool.documents);
  ranker.rank('prepare', { k: 1 });
  const took = performance.now() - started;
  const memory = liveBytes() - before;
  return { ranker, line: [pool.label, milliseconds(took), megabytes(memory), ...stored(ranker)] };
}

/** The longest pause is the longest piece of it that lets nobody else work. */
function stored(ranker: StoredRanker): readonly string[] {
  let longest = 0;
  const timed = <T>(pieces: Iterable<T>): T[] => {
    const all: T[] = [];
    let from = performance.now();
    for (const piece of pieces) {
      longest = Math.max(longest, performance.now() - from);
      all.push(piece);
      from = performance.now();
    }
    return all;
  };
  const started = performance.now();
  const bytes = Buffer.concat(timed(ranker.dump()).map((piece) => piece!));
  const dumped = performance.now();
  timed(createRanker().restore(bytes));
  const restored = performance.now();
  return [megabytes(bytes.length), milliseconds(dumped - started), milliseconds(restored - dumped), milliseconds(longest)];
}

function milliseconds(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}

function megabytes(value: number): string {
  return `${(value / 2 ** 20).toFixed(1)} MB`;
}
