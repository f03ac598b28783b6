import { randomUUID } from 'node:crypto';
import { renameSync } from 'node:fs';
import { mkdir, readdir, rename, rmdir, lstat } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isBelow, isNothingThere, stateFolder, type StateFolder } from '@pith/safe-files';
import { type EntriesFile, readEntries, writeEntries } from './entries.ts';
import { ChangeRefused, type Refusals } from './refused.ts';

/** One folder to put in place or to remove. */
export interface FolderChange<Entry> {
  /** Relative to the containing folder; empty where only the entry changes. */
  readonly folder: string;
  /** The id of its entry; empty where it has none. */
  readonly id: string;
  /** Its staged content, relative to the staging folder; null removes the folder. */
  readonly from: string | null;
  /** Its new entry; null removes the entry. */
  readonly entry: Entry | null;
  /** The digest of the present content, null for none; absent: not checked. */
  readonly expects?: string | null;
}

/** What all changes of one folder share. */
export interface Journaled<Entry> {
  /**
   * The folder of the journals, with what is to be undone when a process is killed. Nobody else may write there, since files that come with
   * a folder are not trusted.
   */
  readonly journals: StateFolder;
  /** null: the folders have none. */
  readonly entries: EntriesFile<Entry> | null;
  /** A digest of a folder's content. */
  readonly digestOf: (folder: string) => Promise<string>;
  readonly refusals: Refusals;
  counted?(folders: readonly string[]): Promise<void>;
}

/** Changes that are staged in `directory`, a folder on the same file system as `root`, which contains the changed folders. */
export interface Operation<Entry> extends Journaled<Entry> {
  readonly root: string;
  readonly directory: string;
}

/** A change with what it replaces, so that it can be undone. */
interface Recorded<Entry> extends Omit<FolderChange<Entry>, 'expects'> {
  /** The entry before the change. */
  readonly before: Entry | null;
  /** The digest of the replaced content; null for none. */
  readonly old: string | null;
  /** The digest of the new content; null for none. */
  readonly next: string | null;
}

/** The folder with content that a person has yet to look at. */
export const KEPT = '.kept';
const OLD = 'old';
const LARGEST_JOURNAL = 16 * 1024 * 1024;
const UNREADABLE = 'unreadable';

/**
 * Makes all changes or none. Writes the journal with the digests of what is replaced, renames the folders, then replaces the entries. The
 * changes count from the moment when the journal says that they are done: until then the next start undoes them. Only one process at a time.
 */
export async function commit<Entry>(operation: Operation<Entry>, changes: readonly FolderChange<Entry>[]): Promise<void> {
  const { root, directory, journals, entries, refusals } = operation;
  const now = await readEntries(entries, refusals); // a damaged file stops everything before anything is moved
  const recorded: Recorded<Entry>[] = [];
  for (const { expects, ...change } of changes) {
    const { place, from } = await placesOf(operation, change);
    const [old, next] = [place && (await digestAt(operation, place)), from && (await digestAt(operation, from))];
    if (place !== null) refuseOther({ ...change, expects }, { old, where: place }, refusals);
    const entry = entries && change.entry && entries.entryOf(change.id, change.entry);
    recorded.push({ ...change, entry, before: now.get(change.id) ?? null, old, next });
  }
  await journals.write(journalOf(directory), JSON.stringify({ root, changes: recorded }));
  try {
    await apply(operation, recorded);
    requireOwn(operation);
    await journals.write(journalOf(directory), JSON.stringify({ root, done: foldersOf(recorded) }));
  } catch (error) {
    await undo(operation, recorded).catch(() => undefined); // the journal stays, and the next start tries again
    throw error;
  }
  await finish(operation, foldersOf(recorded));
  await removeEmptied(operation, recorded);
}

/** After a change that counts. Then any start may sweep its staging folder. */
async function finish({ directory, journals, counted }: Operation<unknown>, folders: readonly string[]): Promise<void> {
  await counted?.(folders);
  await rename(path.join(directory, OLD), path.join(directory, 'done')).catch(() => undefined); // it has been, or the folder is gone
  journals.remove(journalOf(directory));
}

/** The folders above what was changed, where nothing is in them: they would seem to be somebody's. */
async function removeEmptied(operation: Operation<unknown>, changes: readonly Recorded<unknown>[]): Promise<void> {
  for (const change of changes) {
    const { place } = await placesOf(operation, change);
    for (let above = path.dirname(place ?? operation.root); isBelow(above, operation.root); above = path.dirname(above))
      await rmdir(above).catch(() => undefined); // something else is in it
  }
}

/** Throws where the present content is not what the change expects. */
function refuseOther(
  { folder, from, expects }: FolderChange<unknown>,
  { old, where }: { readonly old: string | null; readonly where: string },
  { exists: taken, gone, edited }: Refusals,
): void {
  if (expects === null && old !== null) throw new ChangeRefused(taken(folder), { where });
  if (old === null && (from === null || typeof expects === 'string')) throw new ChangeRefused(gone(folder), { where });
  if (typeof expects === 'string' && old !== expects) throw new ChangeRefused(edited(folder), { where });
}

/** The name of the journal of a staging folder. */
export function journalOf(directory: string): string {
  return `${path.basename(directory)}.json`;
}

/** Undoes an unfinished change. False: the journal belongs to another folder. Rejects for a damaged journal. */
export async function rollBack<Entry>(operation: Operation<Entry>): Promise<boolean> {
  const changes = changesIn(operation);
  if (changes === null) return false;
  await ('done' in changes ? finish(operation, changes.done) : undo(operation, changes));
  return true;
}

function foldersOf(changes: readonly Pick<FolderChange<unknown>, 'folder'>[]): readonly string[] {
  return changes.map(({ folder }) => folder);
}

/** Whether the staging folder has content that was moved out of its place and exists nowhere else. */
export async function hasBegun(directory: string): Promise<boolean> {
  const moved = await readdir(path.join(directory, OLD)).catch((error: unknown) => {
    if (!isNothingThere(error)) throw error; // it may have the only copy
    return []; // the change had not begun
  });
  return moved.length > 0;
}

function changesIn<Entry>({
  journals,
  directory,
  root,
  entries,
  refusals,
}: Operation<Entry>): readonly Recorded<Entry>[] | { readonly done: readonly string[] } | null {
  const name = journalOf(directory);
  const bytes = journals.read(name, LARGEST_JOURNAL);
  try {
    const journal = JSON.parse(String(bytes)) as {
      readonly root?: unknown;
      readonly skills?: unknown;
      readonly changes?: unknown;
      readonly done?: unknown;
    };
    if ((journal.root ?? journal.skills) !== root) return null; // `skills` is the key in older journals
    if (Array.isArray(journal.done)) return { done: journal.done.map(String) };
    if (!Array.isArray(journal.changes)) throw new TypeError('it has no changes');
    return journal.changes.map((change) => recordedIn(change, entries));
  } catch (error) {
    throw new ChangeRefused(refusals.journal, { where: path.join(journals.path, name), cause: error });
  }
}

function recordedIn<Entry>(value: unknown, entries: EntriesFile<Entry> | null): Recorded<Entry> {
  const { folder, id, from, entry, before, old, next } = (value ?? {}) as Partial<Recorded<unknown>>;
  const isText = (one: unknown): boolean => typeof one === 'string' || one === null;
  if (typeof folder !== 'string' || typeof id !== 'string' || ![from, old, next].every(isText))
    throw new TypeError('a change is incomplete');
  const entryIn = (one: unknown): Entry | null => (entries === null || one === null || one === undefined ? null : entries.entryOf(id, one));
  return { folder, id, from: from!, old: old!, next: next!, entry: entryIn(entry), before: entryIn(before) };
}

async function apply<Entry>(operation: Operation<Entry>, changes: readonly Recorded<Entry>[]): Promise<void> {
  const { directory, entries, refusals } = operation;
  await mkdir(path.join(directory, OLD)); // fails where another process took the folder for abandoned and removed it
  for (const [at, change] of changes.entries()) {
    const { place, from } = await placesOf(operation, change);
    if (place === null) continue;
    const aside = path.join(directory, OLD, String(at));
    if (from !== null) await mkdir(path.dirname(place), { recursive: true });
    // At once: whoever looks meanwhile finds one or the other, and what a person has written since is found where it was moved to.
    if (change.old !== null) renameSync(place, aside);
    if (from !== null) renameSync(from, place);
    if (change.old !== null && (await digestAt(operation, aside)) !== change.old)
      throw new ChangeRefused(refusals.editedMeanwhile(change.folder), { where: place });
  }
  const now = await readEntries(entries, refusals);
  for (const { id, entry } of changes) setEntry(now, id, entry);
  requireOwn(operation);
  if (entries !== null && (now.size > 0 || (await exists(entries.file, refusals.failed)))) writeEntries(entries, now);
}

/**
 * Puts the old content back where there is nothing now, or the content of the change. Other content is a person's and stays; the old
 * content is then kept in a folder of its own. Can be run again after any interruption.
 */
async function undo<Entry>(operation: Operation<Entry>, changes: readonly Recorded<Entry>[]): Promise<void> {
  const { root, directory, journals, entries, refusals } = operation;
  const isThere = (place: string) => exists(place, refusals.failed);
  for (const change of changes) await placesOf(operation, change); // nothing is moved where one of the paths leads out
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
  if (entries !== null && changed.some(({ entry, before }) => !isDeepStrictEqual(entry, before))) writeEntries(entries, now);
  await removeEmptied(operation, changes);
  journals.remove(journalOf(directory));
}

/** Throws where another process has undone this change, because this process was suspended for so long that it seemed dead. */
function requireOwn<Entry>({ journals, directory, entries, root, refusals }: Operation<Entry>): void {
  if (!journals.has(journalOf(directory))) throw new ChangeRefused(refusals.takenOver, { where: entries?.file ?? root });
}

function setEntry<Entry>(entries: Map<string, Entry>, id: string, entry: Entry | null): void {
  if (entry === null) entries.delete(id);
  else entries.set(id, entry);
}

/** Moves the folder if it has that digest. A folder that changed meanwhile is moved back. */
async function moveIf(digests: Digests, place: string, aside: string, digest: string): Promise<boolean> {
  await rename(place, aside);
  if ((await digestAt(digests, aside)) === digest) return true;
  await rename(aside, place);
  return false;
}

type Digests = Pick<Journaled<unknown>, 'digestOf' | 'refusals'>;

/** The digest at `place`; null where there is nothing. */
async function digestAt({ digestOf, refusals }: Digests, place: string): Promise<string | null> {
  return (await exists(place, refusals.failed)) ? digestOf(place).catch(() => UNREADABLE) : null;
}

/** The folder's final place, and its staged place. */
async function placesOf<Entry>(
  { root, directory, refusals: { failed } }: Operation<Entry>,
  { folder, from }: Pick<FolderChange<Entry>, 'folder' | 'from'>,
): Promise<{ readonly place: string | null; readonly from: string | null }> {
  return {
    place: folder === '' ? null : await inside(root, folder, failed),
    from: from === null ? null : await inside(directory, from, failed),
  };
}

/** The absolute path of a relative path within a folder. Throws where its names or a link on the way lead out. */
async function inside(folder: string, below: string, failed: string): Promise<string> {
  const names = below.split(/[\\/]/);
  const bad = new ChangeRefused({ code: failed, message: `${JSON.stringify(below)} is not a folder in ${folder}` });
  if (path.isAbsolute(below) || names.some((name) => name === '' || name === '.' || name === '..')) throw bad;
  for (let depth = 1; depth < names.length; depth += 1) {
    const above = await lstat(path.join(folder, ...names.slice(0, depth))).catch(() => null); // missing: no link leads through it
    if (above?.isSymbolicLink()) throw bad;
  }
  return path.join(folder, below);
}

async function exists(place: string, failed: string): Promise<boolean> {
  try {
    await lstat(place);
    return true;
  } catch (error) {
    if (isNothingThere(error)) return false;
    throw new ChangeRefused({ code: failed, message: `cannot look at ${place}` }, { cause: error });
  }
}
