import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { codeOf, PithError } from 'pith';
import { stateFolder } from '@pith/safe-files';
import { treeDigest } from '@pith/skill-files';
import type { InstalledSkill, SkillChange } from '../contract.ts';
import { entryOf, readLock, writeLock } from './lock-file.ts';
import { KEPT, type Operation } from './target.ts';

/** A change with what it replaces, so that it can be undone. */
interface Recorded extends Omit<SkillChange, 'expects'> {
  /** What the lock file said. */
  readonly before: InstalledSkill | null;
  /** Digest of what stood in place; null for nothing. */
  readonly old: string | null;
  /** Digest of what is to come; null for nothing. */
  readonly next: string | null;
}

const OLD = 'old';
const LARGEST_JOURNAL = 16 * 1024 * 1024;
const UNREADABLE = 'unreadable';

/**
 * Makes the changes, all of them or none. First they are written down with the digests of what they replace, then folders are renamed, then
 * the lock file is replaced. They count from the moment the journal is removed: as long as it is there, the next start undoes them. Only
 * within `alone`.
 */
export async function commit(operation: Operation, changes: readonly SkillChange[]): Promise<void> {
  const { target, skills } = operation;
  const lock = await readLock(target.lockFile); // a damaged one stops everything before anything is moved
  const recorded: Recorded[] = [];
  for (const { expects, ...change } of changes) {
    const { place, from } = await placesOf(operation, change);
    const [old, next] = [place && (await digestAt(place)), from && (await digestAt(from))];
    if (place !== null) refuseOther({ change, place, label: target.label }, old, expects);
    recorded.push({ ...change, entry: change.entry && entryOf(change.id, change.entry), before: lock.get(change.id) ?? null, old, next });
  }
  await target.journals.write(journalOf(operation), JSON.stringify({ skills, changes: recorded }));
  try {
    await apply(operation, recorded);
    target.journals.remove(journalOf(operation));
  } catch (error) {
    await undo(operation, recorded).catch(() => undefined); // the journal stays, and the next start tries again
    throw error;
  }
  await rename(path.join(operation.directory, OLD), path.join(operation.directory, 'done')).catch(() => undefined); // then any start may sweep it
}

/** Throws where something else stands in a place than who changes it says. */
function refuseOther(
  { change, place: where, label }: { readonly change: Omit<SkillChange, 'expects'>; readonly place: string; readonly label: string },
  old: string | null,
  expects: string | null | undefined,
): void {
  const { folder, from } = change;
  if (expects === null && old !== null)
    throw new PithError('skill_exists', `${label} has '${folder}' already`, { where, cure: 'look at it, then try again' });
  if (old === null && (from === null || typeof expects === 'string'))
    throw new PithError('skill_not_found', `'${folder}' is gone already`, { where, cure: 'see pith skills list --all' });
  if (typeof expects === 'string' && old !== expects)
    throw new PithError('skill_edited', `'${folder}' was changed by hand meanwhile`, { where, cure: 'look at it, then try again' });
}

export function journalOf({ directory }: Pick<Operation, 'directory'>): string {
  return `${path.basename(directory)}.json`;
}

/** Undoes what was begun and did not end. False: it is of another skills folder. Rejects `install_failed` for a journal that is damaged. */
export async function rollBack(operation: Operation): Promise<boolean> {
  const { journals } = operation.target;
  const name = journalOf(operation);
  const changes = changesIn(journals.read(name, LARGEST_JOURNAL), operation.skills, path.join(journals.path, name));
  if (changes !== null) await undo(operation, changes);
  return changes !== null;
}

/** Whether something was moved out of its place that is nowhere else. */
export async function hasBegun({ directory }: Pick<Operation, 'directory'>): Promise<boolean> {
  return (await readdir(path.join(directory, OLD)).catch(() => [])).length > 0; // none: it had not come that far
}

function changesIn(bytes: Buffer | null, skills: string, where: string): readonly Recorded[] | null {
  try {
    const journal = JSON.parse(String(bytes)) as { readonly skills: unknown; readonly changes: unknown };
    if (journal.skills !== skills) return null;
    if (!Array.isArray(journal.changes)) throw new TypeError('it has no changes');
    return journal.changes.map(recordedIn);
  } catch (error) {
    throw new PithError('install_failed', 'an installation was interrupted, and its journal cannot be read', {
      cause: error,
      where,
      cure: 'move the file away; what it had moved stays in .staging of the skills folder',
    });
  }
}

function recordedIn(value: unknown): Recorded {
  const { folder, id, from, entry, before, old, next } = (value ?? {}) as Partial<Recorded>;
  const isText = (one: unknown): boolean => typeof one === 'string' || one === null;
  if (typeof folder !== 'string' || typeof id !== 'string' || ![from, old, next].every(isText))
    throw new TypeError('a change is incomplete');
  const entryIn = (one: unknown): InstalledSkill | null => (one === null || one === undefined ? null : entryOf(id, one));
  return { folder, id, from: from!, old: old!, next: next!, entry: entryIn(entry), before: entryIn(before) };
}

async function apply(operation: Operation, changes: readonly Recorded[]): Promise<void> {
  const { target, directory } = operation;
  await mkdir(path.join(directory, OLD)); // fails where the folder was taken for abandoned and is gone
  for (const [at, change] of changes.entries()) {
    const { place, from } = await placesOf(operation, change);
    if (place !== null && change.old !== null && !(await moveIf(place, path.join(directory, OLD, String(at)), change.old)))
      throw new PithError('skill_edited', `'${change.folder}' was changed while it was being replaced`, {
        where: place,
        cure: 'look at it, then try again',
      });
    if (place !== null && from !== null) await rename(from, place);
  }
  const lock = new Map(await readLock(target.lockFile));
  for (const { id, entry } of changes) setEntry(lock, id, entry);
  if (lock.size === 0 && !(await exists(target.lockFile))) return;
  await writeLock(target.lockFile, lock);
}

/**
 * Puts back what stood in place, where there is nothing now or what the change brought. Other bytes are a person's and stay; what they
 * replaced is kept in a folder of its own. Can be run again from any point where it was cut off.
 */
async function undo(operation: Operation, changes: readonly Recorded[]): Promise<void> {
  const { target, skills, directory } = operation;
  for (const change of changes) await placesOf(operation, change); // nothing is moved where one of them leads out
  for (const [at, change] of [...changes.entries()].reverse()) {
    const { place, from } = await placesOf(operation, change);
    if (place === null) continue;
    const kept = path.join(directory, OLD, String(at));
    const isKept = await exists(kept);
    let now = await digestAt(place);
    const isOurs = now !== null && now === change.next && from !== null && !(await exists(from)) && isKept === (change.old !== null);
    if (isOurs && (await moveIf(place, path.join(directory, `undone-${randomUUID()}`), change.next!))) now = null;
    if (!isKept) continue;
    if (now === null) {
      await mkdir(path.dirname(place), { recursive: true });
      await rename(kept, place);
    } else if (now === UNREADABLE || now !== (await digestAt(kept))) {
      const name = `${path.basename(place)}-${randomUUID().slice(0, 8)}`;
      await rename(kept, path.join(stateFolder(skills, KEPT).make(), name));
    }
  }
  const lock = new Map(await readLock(target.lockFile));
  const changed = changes.filter(({ id, entry }) => isDeepStrictEqual(lock.get(id) ?? null, entry));
  for (const { id, before } of changed) setEntry(lock, id, before);
  if (changed.some(({ entry, before }) => !isDeepStrictEqual(entry, before))) await writeLock(target.lockFile, lock);
  target.journals.remove(journalOf(operation));
}

function setEntry(lock: Map<string, InstalledSkill>, id: string, entry: InstalledSkill | null): void {
  if (entry === null) lock.delete(id);
  else lock.set(id, entry);
}

/** Moves it if it holds just that. What somebody changed in between comes back. */
async function moveIf(place: string, aside: string, digest: string): Promise<boolean> {
  await rename(place, aside);
  if ((await digestAt(aside)) === digest) return true;
  await rename(aside, place);
  return false;
}

/** null for nothing. */
async function digestAt(place: string): Promise<string | null> {
  return (await exists(place)) ? treeDigest(place).catch(() => UNREADABLE) : null;
}

/** Where it is to lie and where it is staged, checked: neither by their names nor by a link in the way do they lead out. */
async function placesOf({ skills, directory }: Operation, { folder, from }: Pick<SkillChange, 'folder' | 'from'>) {
  return { place: folder === '' ? null : await inside(skills, folder), from: from === null ? null : await inside(directory, from) };
}

async function inside(folder: string, below: string): Promise<string> {
  const names = below.split(/[\\/]/);
  const bad = new PithError('install_failed', `${JSON.stringify(below)} is no folder in ${folder}`);
  if (path.isAbsolute(below) || names.some((name) => name === '' || name === '.' || name === '..')) throw bad;
  for (let depth = 1; depth < names.length; depth += 1) {
    const above = await lstat(path.join(folder, ...names.slice(0, depth))).catch(() => null); // missing: nothing is moved through it
    if (above?.isSymbolicLink()) throw bad;
  }
  return path.join(folder, below);
}

async function exists(place: string): Promise<boolean> {
  try {
    await lstat(place);
    return true;
  } catch (error) {
    if (codeOf(error, '') === 'ENOENT' || codeOf(error, '') === 'ENOTDIR') return false;
    throw new PithError('install_failed', `cannot look at ${place}`, { cause: error });
  }
}
