import { performance } from 'node:perf_hooks';
import type { Bm25fRanker } from '../../sandbox/extensions/skill_registry/search/bm25f.ts';
import { liveBytes } from './measure.ts';
import type { Pool } from './search-data.ts';
import { rankerOf } from './search-rankers.ts';

export const SCALE_HEADING = ['skills', 'built in', 'memory'];

/** The pool's ranker, and what it took to make it. */
export function built(pool: Pool): { readonly ranker: Bm25fRanker; readonly line: readonly string[] } {
  const before = liveBytes();
  const started = performance.now();
  const ranker = rankerOf(pool.documents);
  ranker.rank('prepare', { k: 1 });
  const took = performance.now() - started;
  const memory = liveBytes() - before;
  return { ranker, line: [pool.label, `${took.toFixed(0)} ms`, `${(memory / 2 ** 20).toFixed(1)} MB`] };
}
