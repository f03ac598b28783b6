import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, PithError } from 'pith';
import { entryOf, readLock, writeLock, type LockEntry } from './lock-file.ts';
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

const OLD = 'old';
const LARGEST_JOURNAL = 16 * 1024 * 1024;

/**
 * Makes the changes, all of them: first they are written down, then folders are renamed, then the lock file is replaced. Who is
 * killed in between is completed by the next command. Only within `alone`.
 */
export async function commit(operation: Operation, changes: readonly Change[]): Promise<void> {
  await readLock(operation.target.lockFile); // a damaged one stops everything before anything is moved
  const { target, skills } = operation;
  const name = journalOf(operation);
  await target.journals.write(name, JSON.stringify({ skills, changes } satisfies Journal));
  try {
    await apply(operation, changes);
  } catch (error) {
    await undo(operation, changes);
    target.journals.remove(name);
    throw error;
  }
  target.journals.remove(name);
}

/** Of an operation, named as its staging folder. */
interface Journal {
  /** The real skills folder that it is of. */
  readonly skills: string;
  readonly changes: readonly Change[];
}

function journalOf({ directory }: Operation): string {
  return `${path.basename(directory)}.json`;
}

/** Completes what a killed process had confirmed and begun. False where it had not come that far. Rejects `install_failed` for a journal that is damaged. */
export async function recover(operation: Operation): Promise<boolean> {
  const { journals } = operation.target;
  const name = journalOf(operation);
  const bytes = journals.read(name, LARGEST_JOURNAL);
  if (bytes === null) return false;
  const changes = changesIn(bytes, operation.skills, path.join(journals.path, name));
  if (changes === null) return false;
  await apply(operation, changes);
  journals.remove(name);
  return true;
}

/** Whether something was moved out of its place that is nowhere else. */
export async function hasBegun({ directory }: Operation): Promise<boolean> {
  return (await readdir(path.join(directory, OLD)).catch(() => [])).length > 0; // none: it had not come that far
}

/** null: they are of another skills folder. */
function changesIn(bytes: Buffer, skills: string, where: string): readonly Change[] | null {
  try {
    const journal = JSON.parse(String(bytes)) as { readonly skills: unknown; readonly changes: unknown };
    if (journal.skills !== skills) return null;
    if (!Array.isArray(journal.changes)) throw new TypeError('it has no changes');
    return journal.changes.map(changeIn);
  } catch (error) {
    throw new PithError('install_failed', 'an installation was cut off, and what it had confirmed cannot be read', {
      cause: error,
      where,
      cure: 'move the file away; what it had staged stays in .staging of the skills folder',
    });
  }
}

function changeIn(value: unknown): Change {
  const { folder, id, from, entry } = (value ?? {}) as Partial<Change>;
  if (typeof folder !== 'string' || typeof id !== 'string' || (from !== null && typeof from !== 'string'))
    throw new TypeError('a change is incomplete');
  return { folder, id, from, entry: entry === null || entry === undefined ? null : entryOf(id, entry) };
}

/** Can be run again from any point where it was cut off. */
async function apply({ target, skills, directory }: Operation, changes: readonly Change[]): Promise<void> {
  for (const { folder, from } of changes) {
    await requireInside(skills, folder);
    if (from !== null) await requireInside(directory, from);
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
}

/** Neither by its name nor by a link in the way does it lead out of the folder. */
async function requireInside(folder: string, inside: string): Promise<void> {
  const names = inside === '' ? [] : inside.split(/[\\/]/);
  const bad = new PithError('install_failed', `${JSON.stringify(inside)} is no folder in ${folder}`);
  if (path.isAbsolute(inside) || names.some((name) => name === '' || name === '.' || name === '..')) throw bad;
  for (let depth = 1; depth < names.length; depth += 1) {
    const above = await lstat(path.join(folder, ...names.slice(0, depth))).catch(() => null); // missing: nothing is moved through it
    if (above?.isSymbolicLink()) throw bad;
  }
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
