import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, lstat } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isNothingThere, stateFolder, type StateFolder } from '@pith/safe-files';
import { type EntriesFile, readEntries, writeEntries } from './entries.ts';
import { ChangeRefused, type Refusals, codeOf } from './refused.ts';

/** One folder that is put in place or taken away. */
export interface FolderChange<Entry> {
  /** Relative to the folder that holds it; empty where only its entry changes. */
  readonly folder: string;
  /** Of its entry; empty where it has none. */
  readonly id: string;
  /** Where it lies now, relative to the staging folder; null takes it away. */
  readonly from: string | null;
  /** What its entry is from now on; null drops it. */
  readonly entry: Entry | null;
  /** The digest of what must be there, null for nothing; absent: whatever does. */
  readonly expects?: string | null;
}

/** What every change of one folder shares. */
export interface Journaled<Entry> {
  /** What is to be undone when a process is killed: where nobody else writes, for what comes with a folder is not believed. */
  readonly journals: StateFolder;
  readonly entries: EntriesFile<Entry>;
  /** The same as long as nobody changes anything in a folder. */
  readonly digestOf: (folder: string) => Promise<string>;
  readonly refusals: Refusals;
}

/** Changes that are prepared in `directory`, a folder on the same file system as `root`, which holds the folders that change. */
export interface Operation<Entry> extends Journaled<Entry> {
  readonly root: string;
  readonly directory: string;
}

/** A change with what it replaces, so that it can be undone. */
interface Recorded<Entry> extends Omit<FolderChange<Entry>, 'expects'> {
  /** What its entry was. */
  readonly before: Entry | null;
  /** Digest of what was in place; null for nothing. */
  readonly old: string | null;
  /** Digest of what is to come; null for nothing. */
  readonly next: string | null;
}

/** Holds what a person has yet to look at. */
export const KEPT = '.kept';
const OLD = 'old';
const LARGEST_JOURNAL = 16 * 1024 * 1024;
const UNREADABLE = 'unreadable';

/**
 * Makes the changes, all of them or none. First they are written down with the digests of what they replace, then folders are renamed, then
 * the entries are replaced. They count from the moment the journal is removed: as long as it is there, the next start undoes them. Only
 * one process at a time.
 */
export async function commit<Entry>(operation: Operation<Entry>, changes: readonly FolderChange<Entry>[]): Promise<void> {
  const { root, directory, journals, entries, refusals } = operation;
  const now = await readEntries(entries, refusals); // damaged ones stop everything before anything is moved
  const recorded: Recorded<Entry>[] = [];
  for (const { expects, ...change } of changes) {
    const { place, from } = await placesOf(operation, change);
    const [old, next] = [place && (await digestAt(operation, place)), from && (await digestAt(operation, from))];
    if (place !== null) refuseOther({ ...change, expects }, { old, where: place }, refusals);
    const entry = change.entry && entries.entryOf(change.id, change.entry);
    recorded.push({ ...change, entry, before: now.get(change.id) ?? null, old, next });
  }
  await journals.write(journalOf(directory), JSON.stringify({ root, changes: recorded }));
  try {
    await apply(operation, recorded);
    requireOwn(operation);
    journals.remove(journalOf(directory));
  } catch (error) {
    await undo(operation, recorded).catch(() => undefined); // the journal stays, and the next start tries again
    throw error;
  }
  await rename(path.join(directory, OLD), path.join(directory, 'done')).catch(() => undefined); // then any start may sweep it
}

/** Throws where something else is in a place than who changes it says. */
function refuseOther(
  { folder, from, expects }: FolderChange<unknown>,
  { old, where }: { readonly old: string | null; readonly where: string },
  { exists: taken, gone, edited }: Refusals,
): void {
  if (expects === null && old !== null) throw new ChangeRefused(taken(folder), { where });
  if (old === null && (from === null || typeof expects === 'string')) throw new ChangeRefused(gone(folder), { where });
  if (typeof expects === 'string' && old !== expects) throw new ChangeRefused(edited(folder), { where });
}

/** The name of the journal of what is prepared in that folder. */
export function journalOf(directory: string): string {
  return `${path.basename(directory)}.json`;
}

/** Undoes what was begun and did not end. False: it is of another folder. Rejects for a journal that is damaged. */
export async function rollBack<Entry>(operation: Operation<Entry>): Promise<boolean> {
  const changes = changesIn(operation);
  if (changes !== null) await undo(operation, changes);
  return changes !== null;
}

/** Whether something was moved out of its place that is nowhere else. */
export async function hasBegun(directory: string): Promise<boolean> {
  const moved = await readdir(path.join(directory, OLD)).catch((error: unknown) => {
    if (!isNothingThere(error)) throw error; // it may hold what is nowhere else
    return []; // it had not come that far
  });
  return moved.length > 0;
}

function changesIn<Entry>({ journals, directory, root, entries, refusals }: Operation<Entry>): readonly Recorded<Entry>[] | null {
  const name = journalOf(directory);
  const bytes = journals.read(name, LARGEST_JOURNAL);
  try {
    const journal = JSON.parse(String(bytes)) as { readonly root?: unknown; readonly skills?: unknown; readonly changes: unknown };
    if ((journal.root ?? journal.skills) !== root) return null; // `skills`: as journals before this package named it
    if (!Array.isArray(journal.changes)) throw new TypeError('it has no changes');
    return journal.changes.map((change) => recordedIn(change, entries));
  } catch (error) {
    throw new ChangeRefused(refusals.journal, { where: path.join(journals.path, name), cause: error });
  }
}

function recordedIn<Entry>(value: unknown, { entryOf }: EntriesFile<Entry>): Recorded<Entry> {
  const { folder, id, from, entry, before, old, next } = (value ?? {}) as Partial<Recorded<unknown>>;
  const isText = (one: unknown): boolean => typeof one === 'string' || one === null;
  if (typeof folder !== 'string' || typeof id !== 'string' || ![from, old, next].every(isText))
    throw new TypeError('a change is incomplete');
  const entryIn = (one: unknown): Entry | null => (one === null || one === undefined ? null : entryOf(id, one));
  return { folder, id, from: from!, old: old!, next: next!, entry: entryIn(entry), before: entryIn(before) };
}

async function apply<Entry>(operation: Operation<Entry>, changes: readonly Recorded<Entry>[]): Promise<void> {
  const { directory, entries, refusals } = operation;
  await mkdir(path.join(directory, OLD)); // fails where the folder was taken for abandoned and is gone
  for (const [at, change] of changes.entries()) {
    const { place, from } = await placesOf(operation, change);
    if (place !== null && change.old !== null && !(await moveIf(operation, place, path.join(directory, OLD, String(at)), change.old)))
      throw new ChangeRefused(refusals.editedMeanwhile(change.folder), { where: place });
    if (place !== null && from !== null) await rename(from, place);
  }
  const now = await readEntries(entries, refusals);
  for (const { id, entry } of changes) setEntry(now, id, entry);
  requireOwn(operation);
  if (now.size > 0 || (await exists(entries.file, refusals.failed))) await writeEntries(entries, now);
}

/**
 * Puts back what was in place, where there is nothing now or what the change brought. Other bytes are a person's and stay; what they
 * replaced is kept in its own folder. Can be run again from any point where it was cut off.
 */
async function undo<Entry>(operation: Operation<Entry>, changes: readonly Recorded<Entry>[]): Promise<void> {
  const { root, directory, journals, entries, refusals } = operation;
  const isThere = (place: string) => exists(place, refusals.failed);
  for (const change of changes) await placesOf(operation, change); // nothing is moved where one of them leads out
  for (const [at, change] of [...changes.entries()].reverse()) {
    const { place, from } = await placesOf(operation, change);
    if (place === null) continue;
    const kept = path.join(directory, OLD, String(at));
    const isKept = await isThere(kept);
    let now = await digestAt(operation, place);
    const isOurs = now !== null && now === change.next && from !== null && !(await isThere(from)) && isKept === (change.old !== null);
    if (isOurs && (await moveIf(operation, place, path.join(directory, `undone-${randomUUID()}`), change.next!))) now = null;
    if (!isKept) continue;
    if (now === null) {
      await mkdir(path.dirname(place), { recursive: true });
      await rename(kept, place);
    } else if (now === UNREADABLE || now !== (await digestAt(operation, kept))) {
      const name = `${path.basename(place)}-${randomUUID().slice(0, 8)}`;
      await rename(kept, path.join(stateFolder(root, KEPT).make(), name));
    }
  }
  const now = await readEntries(entries, refusals);
  const changed = changes.filter(({ id, entry }) => isDeepStrictEqual(now.get(id) ?? null, entry));
  for (const { id, before } of changed) setEntry(now, id, before);
  if (changed.some(({ entry, before }) => !isDeepStrictEqual(entry, before))) await writeEntries(entries, now);
  journals.remove(journalOf(directory));
}

/** Throws where another process has undone it: it held this one, which was suspended for long, for dead. */
function requireOwn<Entry>({ journals, directory, entries, refusals }: Operation<Entry>): void {
  if (!journals.has(journalOf(directory))) throw new ChangeRefused(refusals.takenOver, { where: entries.file });
}

function setEntry<Entry>(entries: Map<string, Entry>, id: string, entry: Entry | null): void {
  if (entry === null) entries.delete(id);
  else entries.set(id, entry);
}

/** Moves it if it holds just that. What somebody changed in between comes back. */
async function moveIf(digests: Digests, place: string, aside: string, digest: string): Promise<boolean> {
  await rename(place, aside);
  if ((await digestAt(digests, aside)) === digest) return true;
  await rename(aside, place);
  return false;
}

type Digests = Pick<Journaled<unknown>, 'digestOf' | 'refusals'>;

/** null for nothing. */
async function digestAt({ digestOf, refusals }: Digests, place: string): Promise<string | null> {
  return (await exists(place, refusals.failed)) ? digestOf(place).catch(() => UNREADABLE) : null;
}

/** Where it is to lie and where it is staged. */
async function placesOf<Entry>(
  { root, directory, refusals: { failed } }: Operation<Entry>,
  { folder, from }: Pick<FolderChange<Entry>, 'folder' | 'from'>,
): Promise<{ readonly place: string | null; readonly from: string | null }> {
  return {
    place: folder === '' ? null : await inside(root, folder, failed),
    from: from === null ? null : await inside(directory, from, failed),
  };
}

/** The place in a folder that a relative path means: neither by its names nor by a link in the way does it lead out. */
async function inside(folder: string, below: string, failed: string): Promise<string> {
  const names = below.split(/[\\/]/);
  const bad = new ChangeRefused({ code: failed, message: `${JSON.stringify(below)} is no folder in ${folder}` });
  if (path.isAbsolute(below) || names.some((name) => name === '' || name === '.' || name === '..')) throw bad;
  for (let depth = 1; depth < names.length; depth += 1) {
    const above = await lstat(path.join(folder, ...names.slice(0, depth))).catch(() => null); // missing: nothing is moved through it
    if (above?.isSymbolicLink()) throw bad;
  }
  return path.join(folder, below);
}

async function exists(place: string, failed: string): Promise<boolean> {
  try {
    await lstat(place);
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return false;
    throw new ChangeRefused({ code: failed, message: `cannot look at ${place}` }, { cause: error });
  }
}
