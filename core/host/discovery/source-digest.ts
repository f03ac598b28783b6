import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { stampFolder } from './source-stamp.ts';
import { readRegularFile } from './text-file.ts';

/** Hex SHA-256 over relative paths and bytes of a folder's files, as `stampFolder` lists them. The build uses the same function. */
export function sourceDigest(directory: string): string {
  return digestOf(directory, stampFolder(directory).files);
}

/** Sources are small; more is something else that lies beside them. */
const MAX_BYTES = 64 * 1024 * 1024;

/** As `sourceDigest`, for files that are already known. A file that is gone counts as empty; of one beyond the bytes that are read, size and time count. */
export function digestOf(directory: string, files: readonly string[], maxBytes = MAX_BYTES): string {
  const hash = createHash('sha256');
  let left = maxBytes;
  for (const file of files) {
    const full = path.join(directory, file);
    const stat = fs.statSync(full, { throwIfNoEntry: false });
    if (stat !== undefined && stat.size > left) {
      hash.update(`${file}\0${stat.size}\0${stat.mtimeMs}\0`);
      continue;
    }
    const bytes = readOrNothing(full);
    left -= bytes.length;
    hash.update(`${file}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest('hex');
}

function readOrNothing(file: string): Buffer {
  try {
    return readRegularFile(file, MAX_BYTES);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0); // removed since it was listed; the next stamp differs
    throw error;
  }
}
