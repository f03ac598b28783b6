import { lstatSync, readFileSync, statfsSync, statSync, watch, type FSWatcher } from 'node:fs';
import { setImmediate as breathe } from 'node:timers/promises';
import type { FolderGroup, Hint, StartHint } from './watch.ts';

/** No more folders than this are watched; the rest is left to the poll. */
const FOLDER_LIMIT = 24_000;
/** Folders that are begun with between two yields. */
const SLICE = 250;
/** So many changes that were not told, and no folder is believed to tell any more. */
const GAPS = 8;
/** Where Linux tells every change in a folder, whoever makes it: ext, XFS, Btrfs, F2FS, tmpfs, ZFS, bcachefs. */
const TELLING: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x01021994, 0x2fc12fc1, 0xca451a4e]);

/** Watches folders one by one, never what is below them. */
export const startFolderWatch: StartHint = async (onChange, onFailure) => new FolderWatch(onChange, onFailure);

class FolderWatch implements Hint {
  readonly #onChange: (folder: string) => void;
  readonly #onFull: (error: unknown) => void;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #sure = new Set<string>();
  /** Their watch is no longer on the folder of that name, or what it holds may be a link now. */
  readonly #again = new Set<string>();
  readonly #limit = limitOf();
  #groups: readonly FolderGroup[] = [];
  #unsure: readonly string[] | null = [];
  #gaps = 0;
  #full = false;

  constructor(onChange: (folder: string) => void, onFull: (error: unknown) => void) {
    this.#onChange = onChange;
    this.#onFull = onFull;
  }

  get unsure(): readonly string[] {
    return (this.#unsure ??= this.#groups.flatMap(({ folders }) => folders.filter((folder) => !this.#sure.has(folder))));
  }

  isSure(folder: string): boolean {
    return this.#sure.has(folder);
  }

  distrust(folder: string): void {
    if (++this.#gaps >= GAPS) this.#sure.clear();
    this.#sure.delete(folder);
    this.#unsure = null;
  }

  async cover(groups: readonly FolderGroup[]): Promise<readonly string[]> {
    const fresh = groups.filter((group) => !this.#groups.includes(group));
    if (fresh.length === 0 && this.#again.size === 0) return [];
    if (fresh.length > 0) this.#closeAllBut(new Set(groups.flatMap(({ folders }) => folders)));
    this.#groups = groups;
    this.#unsure = null;
    const added: string[] = [];
    for (const group of groups) {
      const again = [...this.#again].filter((folder) => group.folders.includes(folder));
      if (!fresh.includes(group) && again.length === 0) continue;
      for (const folder of again) this.#drop(folder);
      const device = group.isTold ? tellingDevice(group.root) : null;
      let spent = 0;
      for (const folder of fresh.includes(group) ? group.folders : again) {
        if (this.#watchers.has(folder)) continue;
        if (++spent % SLICE === 0) await breathe();
        if (!this.#begin(folder)) continue;
        if (device !== null && this.#gaps < GAPS && isPlain(folder, device)) this.#sure.add(folder);
        added.push(folder);
      }
    }
    this.#again.clear();
    return added;
  }

  async close(): Promise<void> {
    this.#closeAllBut(new Set());
  }

  #begin(folder: string): boolean {
    if (this.#full) return false;
    if (this.#watchers.size >= this.#limit) {
      this.#isFull(new Error(`more than ${this.#limit} folders`));
      return false;
    }
    try {
      const watcher = watch(folder, { persistent: false }, (kind, name) => this.#heard(folder, kind, name));
      watcher.on('error', () => this.#lose(folder));
      this.#watchers.set(folder, watcher);
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOSPC' || code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM' || code === 'ENOSYS') this.#isFull(error);
      return false; // gone since it was found, or not readable: the poll says so
    }
  }

  #isFull(error: unknown): void {
    this.#full = true;
    this.#onFull(error);
  }

  #heard(folder: string, kind: string, name: string | null): void {
    const isItself = name === null || name === folder.slice(folder.lastIndexOf('/') + 1);
    const isSkillFile = name !== null && name.toLowerCase() === 'skill.md';
    if (isItself || (isSkillFile && kind === 'rename')) this.#lose(folder);
    if (isItself || isSkillFile || kind === 'rename') this.#onChange(folder);
  }

  #lose(folder: string): void {
    this.#sure.delete(folder);
    this.#unsure = null;
    this.#again.add(folder);
  }

  #drop(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
    this.#sure.delete(folder);
  }

  #closeAllBut(wanted: ReadonlySet<string>): void {
    for (const folder of this.#watchers.keys()) if (!wanted.has(folder)) this.#drop(folder);
    for (const folder of this.#again) if (!wanted.has(folder)) this.#again.delete(folder);
    this.#full = false; // there may be room again
  }
}

/** Other programs of the same user need watches too. */
function limitOf(): number {
  try {
    return Math.min(FOLDER_LIMIT, Math.floor(Number(readFileSync('/proc/sys/fs/inotify/max_user_watches', 'utf8')) / 2)) || FOLDER_LIMIT;
  } catch {
    return FOLDER_LIMIT; // no such limit here
  }
}

/** The device of a folder on a file system that tells every change; null for others. */
function tellingDevice(root: string): number | null {
  try {
    return process.platform === 'linux' && TELLING.has(Number(statfsSync(root).type)) ? statSync(root).dev : null;
  } catch {
    return null; // it is not there
  }
}

/** Whether what counts of a folder lies in it: no link to a file elsewhere, no other file system. */
function isPlain(folder: string, device: number): boolean {
  try {
    const stats = lstatSync(`${folder}/SKILL.md`, { throwIfNoEntry: false }) ?? lstatSync(folder);
    return !stats.isSymbolicLink() && stats.dev === device;
  } catch {
    return false; // it is gone
  }
}
