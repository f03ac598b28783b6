import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { INDEX_LIMIT, readRegularFile } from '../scan/regular-file.ts';
import type { StoredRanker } from './ranker.ts';

/** Where the search index is kept between two processes. It may be deleted at any time. */
export function indexFileIn(dataDirectory: string): string {
  return path.join(dataDirectory, 'search-index');
}

/** Fills an empty ranker with what was stored, letting others work between pieces. False where nothing is stored; rejects where it is of no use. */
export async function restoreIndex(file: string, ranker: StoredRanker): Promise<boolean> {
  let bytes: Buffer;
  try {
    bytes = await readRegularFile(file, INDEX_LIMIT);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  for (const _ of ranker.restore(bytes)) await breathe();
  return true;
}

/** Writes all or nothing. False where the ranker changed so much meanwhile that it must be tried again. */
export async function storeIndex(file: string, ranker: StoredRanker): Promise<boolean> {
  const pieces: Uint8Array[] = [];
  for (const piece of ranker.dump()) {
    if (piece === null) return false;
    pieces.push(piece);
    await breathe();
  }
  const { default: writeFileAtomic } = await import('write-file-atomic');
  await mkdir(path.dirname(file), { recursive: true });
  await writeFileAtomic(file, Buffer.concat(pieces));
  return true;
}
