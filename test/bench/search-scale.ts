import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import type { CommandContext } from '../../core/contract/index.ts';
import { systemClock } from '../../core/host/system-clock.ts';
import { openCacheFile } from '../../core/storage/cache-file.ts';
import { createRanker } from '../../sandbox/extensions/skill_registry/search/bm25f.ts';
import { CatalogDb } from '../../sandbox/extensions/skill_registry/search/catalog-db.ts';
import type { SearchDocument, StoredRanker } from '../../sandbox/extensions/skill_registry/search/ranker.ts';
import { countDocument } from '../../sandbox/extensions/skill_registry/search/term-index.ts';
import { liveBytes } from './measure.ts';
import type { Pool } from './search-data.ts';
import { rankerOf } from './search-rankers.ts';

export const SCALE_HEADING = ['skills', 'built in', 'memory', 'stored', 'written in', 'read in', 'longest pause'];

const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
/** As many as are written at once. */
const AT_ONCE = 24;

/** The pool's ranker, and what it took to make, keep and bring it back. */
export async function built(pool: Pool): Promise<{ readonly ranker: StoredRanker; readonly line: readonly string[] }> {
  const before = liveBytes();
  const started = performance.now();
  const ranker = rankerOf(pool.documents);
  ranker.rank('prepare', { k: 1 });
  const took = performance.now() - started;
  const memory = liveBytes() - before;
  return { ranker, line: [pool.label, milliseconds(took), megabytes(memory), ...(await stored(pool.documents))] };
}

/** `catalog.db`, as processes keep it. The longest pause is the longest piece of writing or reading that lets nobody else work. */
async function stored(documents: readonly SearchDocument[]): Promise<readonly string[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'pith-bench-'));
  const openCache: CommandContext['openCache'] = (name, layout) =>
    openCacheFile({ file: path.join(folder, `${name}.db`), layout, clock: systemClock(), logger: SILENT });
  const catalog = await CatalogDb.open({ openCache });
  let longest = 0;
  let written = 0;
  let from = 0;
  const pause = (): number => {
    const took = performance.now() - from;
    longest = Math.max(longest, took);
    return took;
  };
  for (let at = 0; at < documents.length; at += AT_ONCE) {
    const put = documents.slice(at, at + AT_ONCE).map((document) => ({ document, counted: countDocument(document) }));
    from = performance.now();
    await catalog.write(put, new Map());
    written += pause();
  }
  const started = performance.now();
  from = started;
  for (const _ of createRanker().load(catalog, { bodies: true })) {
    pause();
    from = performance.now();
  }
  const read = performance.now() - started;
  const { size } = statSync(catalog.file);
  await catalog.close();
  rmSync(folder, { recursive: true });
  return [megabytes(size), milliseconds(written), milliseconds(read), milliseconds(longest)];
}

function milliseconds(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}

function megabytes(value: number): string {
  return `${(value / 2 ** 20).toFixed(1)} MB`;
}
