import { randomUUID } from 'node:crypto';
import { lstat, mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, PithError } from 'pith';
import { readRegularFile } from '../scan/regular-file.ts';
import { readLock, writeLock, type LockEntry } from './lock-file.ts';
import type { Operation } from './operation.ts';

/** One skill that is put in place or taken away. */
export interface Change {
  /** Its folder, relative to the skills folder; empty where only the lock file changes. */
  readonly folder: string;
  /** Its id in the lock file. */
  readonly id: string;
  /** Where it lies now, relative to the staging folder; null takes it away. */
  readonly from: string | null;
  /** What the lock file says of it from now on; null drops it. */
  readonly entry: LockEntry | null;
}

const JOURNAL = 'commit.json';
const OLD = 'old';
const LARGEST_JOURNAL = 16 * 1024 * 1024;

/**
 * Makes the changes, all of them: first they are written down, then folders are renamed, then the lock file is replaced. Who is
 * killed in between is completed by the next command. Only within `alone`.
 */
export async function commit(operation: Operation, changes: readonly Change[]): Promise<void> {
  await readLock(operation.target.lockFile); // a damaged one stops everything before anything is moved
  const { default: writeFileAtomic } = await import('write-file-atomic');
  await writeFileAtomic(path.join(operation.directory, JOURNAL), JSON.stringify(changes));
  try {
    await apply(operation, changes);
  } catch (error) {
    await undo(operation, changes);
    throw error;
  }
}

/** Completes what a killed process had confirmed and begun; nothing where it had not come that far. */
export async function recover(operation: Operation): Promise<void> {
  const text = await readRegularFile(path.join(operation.directory, JOURNAL), LARGEST_JOURNAL).catch((error: unknown) => {
    if (codeOf(error, '') === 'ENOENT' || codeOf(error, '') === 'ENOTDIR') return null;
    throw error;
  });
  if (text !== null) await apply(operation, JSON.parse(text.toString('utf8')) as readonly Change[]);
}

/** Can be run again from any point where it was cut off. */
async function apply({ target, skills, directory }: Operation, changes: readonly Change[]): Promise<void> {
  for (const { folder } of changes) {
    if (path.isAbsolute(folder) || folder.split(/[\\/]/).includes('..'))
      throw new PithError('install_failed', `${JSON.stringify(folder)} is no folder in ${skills}`);
  }
  await mkdir(path.join(directory, OLD), { recursive: true });
  for (const [at, { folder, from }] of changes.entries()) {
    if (folder === '') continue;
    const place = path.join(skills, folder);
    const old = path.join(directory, OLD, String(at));
    if (from !== null && !(await exists(path.join(directory, from)))) continue; // in place already
    const moved = await exists(old);
    // What somebody put there after the old one was moved away goes too: the new one was confirmed.
    if ((!moved || from !== null) && (await exists(place))) await rename(place, moved ? `${old}-${randomUUID()}` : old);
    if (from !== null) await rename(path.join(directory, from), place);
  }
  const lock = new Map(await readLock(target.lockFile));
  for (const { id, entry } of changes) {
    if (entry === null) lock.delete(id);
    else lock.set(id, entry);
  }
  if (lock.size === 0 && !(await exists(target.lockFile))) return;
  await writeLock(target.lockFile, lock);
}

async function undo({ skills, directory }: Operation, changes: readonly Change[]): Promise<void> {
  for (const [at, { folder, from }] of [...changes.entries()].reverse()) {
    if (folder === '') continue;
    const place = path.join(skills, folder);
    const old = path.join(directory, OLD, String(at));
    if (from !== null && (await exists(place)) && !(await exists(path.join(directory, from))))
      await rename(place, path.join(directory, from));
    if ((await exists(old)) && !(await exists(place))) await rename(old, place);
  }
  await rm(path.join(directory, JOURNAL), { force: true });
}

export async function exists(place: string): Promise<boolean> {
  try {
    await lstat(place);
    return true;
  } catch (error) {
    if (codeOf(error, '') === 'ENOENT' || codeOf(error, '') === 'ENOTDIR') return false;
    throw new PithError('install_failed', `cannot look at ${place}`, { cause: error });
  }
}
