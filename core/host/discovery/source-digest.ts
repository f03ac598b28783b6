import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { stampFolder } from './source-stamp.ts';

/** Hex SHA-256 over relative paths and bytes of a folder's files, as `stampFolder` lists them. The build uses the same function. */
export function sourceDigest(directory: string): string {
  return digestOf(directory, stampFolder(directory).files);
}

/** As `sourceDigest`, for files that are already known. A file that is gone counts as empty. */
export function digestOf(directory: string, files: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of files) {
    const bytes = readOrNothing(path.join(directory, file));
    hash.update(`${file}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest('hex');
}

function readOrNothing(file: string): Buffer {
  try {
    return fs.readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0); // removed since it was listed; the next stamp differs
    throw error;
  }
}
