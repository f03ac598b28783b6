import { constants, lstatSync, readdirSync, realpathSync, renameSync, rmdirSync, unlinkSync, type BigIntStats, type Dirent } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { relative, sep } from 'node:path';
import { isBelow } from './paths.ts';
import { openFolder, reachOf, type ProvenFolder, type Reach } from './proven-folder.ts';
import { codeOf, FileRefused, isAbsence, isRefusal, refusalOf, unavailable } from './refused.ts';
import { requireContent, StagedFile } from './staged-file.ts';
import type { StagingNotes } from './staging-notes.ts';
import { syncFolder } from './state-files.ts';

/** A file may be replaced while it is read, by our own writes too; a file that is replaced at every attempt is refused. */
const READ_ATTEMPTS = 10;
const MAX_PATH_BYTES = 1_024;
const MAX_NAME_BYTES = 255;
/** A move is one rename where both folders can be opened; otherwise the bytes go through memory, at most this many. */
const MAX_MOVED_BYTES = 16 * 1024 * 1024;
const FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

export interface Entry {
  readonly name: string;
  /** `other`: a link, a file with a second name, or a special file: never used. */
  readonly type: 'file' | 'directory' | 'other';
  readonly size: number;
  readonly modified: string;
}

/** File operations that cannot leave one folder. Paths are names from that folder down; refusals are `FileRefused`. */
export class Jail {
  /** The real path of the folder. */
  readonly root: string;

  constructor(
    root: string,
    private readonly reach: Reach | null = reachOf(),
    private readonly notes: StagingNotes | null = null,
  ) {
    this.root = realpathSync.native(root);
  }

  /**
   * The names from the folder down to `path`; empty for the folder itself. An absolute path must begin with the folder's own. Throws the
   * same refusal for every path that could lead elsewhere.
   */
  namesOf(path: string): readonly string[] {
    if (path.includes('\0')) throw new FileRefused('file_unavailable', 'a path has no NUL character; leave it out');
    const local = path === this.root ? '' : path.startsWith(`${this.root}/`) ? path.slice(this.root.length + 1) : path;
    // Backslashes and drive letters are separators on other systems; control characters have no place in a name.
    if (/[\p{Cc}\\]/u.test(local) || /^(?:\/|~|[a-z]:)/i.test(local) || Buffer.byteLength(local) > MAX_PATH_BYTES) throw unavailable(path);
    const names = local.split('/').filter((name) => name !== '' && name !== '.');
    if (names.some((name) => name === '..' || Buffer.byteLength(name) > MAX_NAME_BYTES)) throw unavailable(path);
    return names;
  }

  /**
   * Opens a regular file and checks the opened file before and after `use`. The result is returned only when the name, in the verified
   * folder, still is that file: a hard link that is removed meanwhile can make a file from outside look like one of ours. `linked`: it may
   * have a second name.
   */
  async read<T>(
    names: readonly string[],
    use: (handle: FileHandle, size: number) => Promise<T>,
    { linked = false }: { readonly linked?: boolean } = {},
  ): Promise<T> {
    return this.inFolderOf(names, async (folder, name) => {
      const isNamed = (opened: BigIntStats) => isSame(opened, statsIn(folder, name), linked);
      for (let attempt = 1; attempt <= READ_ATTEMPTS; attempt += 1) {
        const handle = await open(folder.place(name), FILE);
        try {
          const stats = await handle.stat({ bigint: true });
          if (!stats.isFile()) break;
          if (!isNamed(stats)) continue;
          const result = await use(handle, Number(stats.size));
          if (isNamed(stats) && isSame(stats, await handle.stat({ bigint: true }), linked)) return result;
        } finally {
          await handle.close();
        }
      }
      throw unavailable(names.join('/'));
    });
  }

  /** null when there is nothing. */
  async stat(names: readonly string[]): Promise<Entry | null> {
    if (names.length === 0) return entryOf('.', lstatSync(this.root, { bigint: true }));
    return orNull(this.inFolderOf(names, async (folder, name) => entryOf(name, statsIn(folder, name))));
  }

  /** The names in a folder; empty where it is not a folder. */
  async names(names: readonly string[]): Promise<readonly string[]> {
    return (await orNull(this.inFolder(names, async (folder) => folder.within((at) => readdirSync(at('.')))))) ?? [];
  }

  /** The entries of a folder without checking each file: links and special files are `other`. A file may have a second name. */
  async kinds(names: readonly string[]): Promise<readonly Pick<Entry, 'name' | 'type'>[]> {
    return this.inFolder(names, async (folder) =>
      folder.within((at) => readdirSync(at('.'), { withFileTypes: true }).map((each) => ({ name: each.name, type: kindOf(each) }))),
    );
  }

  /** Sorted by name. */
  async list(names: readonly string[], limit: number): Promise<{ readonly entries: readonly Entry[]; readonly total: number }> {
    return this.inFolder(names, async (folder) =>
      folder.within((at) => {
        const all = readdirSync(at('.')).sort();
        const entries = all.slice(0, limit).flatMap((name) => {
          const stats = lstatSync(at(name), { bigint: true, throwIfNoEntry: false }); // it may be removed while we list
          return stats === undefined ? [] : [entryOf(name, stats)];
        });
        return { entries, total: all.length };
      }),
    );
  }

  /** Writes the bytes to disk beside their place, invisible before `commit`. Creates missing folders. `mode` null: the replaced file's. */
  async stage(names: readonly string[], bytes: Uint8Array, mode: number | null = null): Promise<StagedFile> {
    const { parents, name } = split(names);
    const folder = openFolder(this.root, parents, { reach: this.reach, create: true });
    try {
      const replaced = modeOfReplaced(folder, name, names);
      return await StagedFile.write(folder, name, bytes, { mode: mode ?? replaced, notes: this.notes });
    } catch (error) {
      folder.close();
      throw refusalOf(error, names.join('/'));
    }
  }

  /** Removes staged files of killed processes. Once, before anything is staged. */
  clearStaged(): void {
    this.notes?.clear((place) => {
      if (!isBelow(place, this.root)) return;
      const { parents, name } = split(relative(this.root, place).split(sep));
      try {
        const folder = openFolder(this.root, parents, { reach: this.reach });
        try {
          folder.within((at) => {
            if (lstatSync(at(name)).isFile()) unlinkSync(at(name));
          });
        } finally {
          folder.close();
        }
      } catch (error) {
        if (!isRefusal(error) && !isAbsence(error)) throw error; // it is gone, or its folder is
      }
    });
  }

  /**
   * Moves a regular file and replaces what is at `to`, whose content becomes `content` where that is given. Where this is not one rename
   * (with `content`, or without folder descriptors), an interrupted move leaves the file in both places.
   */
  async move(from: readonly string[], to: readonly string[], content: Uint8Array | null = null): Promise<void> {
    if (content !== null || this.reach !== 'descriptor') return this.carry(from, to, content);
    const target = split(to);
    await this.inFolderOf(from, async (source, name) => {
      const folder = openFolder(this.root, target.parents, { reach: this.reach, create: true });
      try {
        modeOfReplaced(folder, target.name, to);
        source.within((before) =>
          folder.within((after) => {
            requireFile(lstatSync(before(name), { bigint: true }), from);
            renameSync(before(name), after(target.name));
            syncFolder(after('.'));
            syncFolder(before('.'));
          }),
        );
      } finally {
        folder.close();
      }
    });
  }

  /** Removes a regular file or an empty folder. `file`: only that very file; `bytes`: only that content, else throws `file_changed`. */
  async remove(
    names: readonly string[],
    { file, bytes }: { readonly file?: BigIntStats; readonly bytes?: Uint8Array | undefined } = {},
  ): Promise<void> {
    await this.inFolderOf(names, async (folder, name) =>
      folder.within((at) => {
        const stats = lstatSync(at(name), { bigint: true });
        if (file !== undefined && !isSame(file, stats)) return;
        if (stats.isDirectory()) {
          removeFolder(at(name), names);
        } else {
          requireFile(stats, names);
          if (bytes !== undefined) requireContent(at(name), bytes, name);
          unlinkSync(at(name));
        }
        syncFolder(at('.'));
      }),
    );
  }

  private async carry(from: readonly string[], to: readonly string[], content: Uint8Array | null): Promise<void> {
    const { bytes, stats } = await this.read(from, async (handle, size) => {
      if (content === null && size > MAX_MOVED_BYTES)
        throw new FileRefused(
          'file_too_large',
          `'${from.join('/')}' has ${size} bytes; without /proc at most ${MAX_MOVED_BYTES} are moved`,
        );
      return { bytes: content ?? (await handle.readFile()), stats: await handle.stat({ bigint: true }) };
    });
    const mode = content === null ? modeOf(stats) : null;
    (await this.stage(to, bytes, mode)).commit();
    await this.remove(from, { file: stats }); // not where both names are the same file, which is the new one now
  }

  private inFolderOf<T>(names: readonly string[], use: (folder: ProvenFolder, name: string) => Promise<T>): Promise<T> {
    const { parents, name } = split(names);
    return this.inFolder(parents, (folder) => use(folder, name), names);
  }

  private async inFolder<T>(names: readonly string[], use: (folder: ProvenFolder) => Promise<T>, asked = names): Promise<T> {
    if (asked.some((name) => name === '' || name === '.' || name === '..' || name.includes('/'))) throw unavailable(asked.join('/'));
    const folder = openFolder(this.root, names, { reach: this.reach });
    try {
      return await use(folder);
    } catch (error) {
      throw refusalOf(error, asked.join('/'));
    } finally {
      folder.close();
    }
  }
}

async function orNull<T>(work: Promise<T>): Promise<T | null> {
  return work.catch((error: unknown) => {
    if (error instanceof FileRefused && error.code === 'file_unavailable') return null;
    throw error;
  });
}

function split(names: readonly string[]): { readonly parents: readonly string[]; readonly name: string } {
  const name = names.at(-1);
  if (name === undefined) throw unavailable('.');
  return { parents: names.slice(0, -1), name };
}

function statsIn(folder: ProvenFolder, name: string): BigIntStats {
  return folder.within((at) => lstatSync(at(name), { bigint: true }));
}

/** null: nothing is replaced. */
function modeOfReplaced(folder: ProvenFolder, name: string, names: readonly string[]): number | null {
  const stats = folder.within((at) => lstatSync(at(name), { bigint: true, throwIfNoEntry: false }));
  if (stats === undefined) return null;
  requireFile(stats, names);
  return modeOf(stats);
}

function modeOf(stats: BigIntStats): number {
  return Number(stats.mode & 0o777n);
}

function requireFile(stats: BigIntStats, names: readonly string[]): void {
  if (typeOf(stats) !== 'file') throw unavailable(names.join('/'));
}

function removeFolder(folder: string, names: readonly string[]): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if (codeOf(error) !== 'ENOTEMPTY') throw error;
    throw new FileRefused('folder_not_empty', `'${names.join('/')}' is a folder with content; delete its files first`);
  }
}

function entryOf(name: string, stats: BigIntStats): Entry {
  return { name, type: typeOf(stats), size: Number(stats.size), modified: stats.mtime.toISOString() };
}

function isSame(opened: BigIntStats, now: BigIntStats, linked = false): boolean {
  return (linked ? now.isFile() : typeOf(now) === 'file') && now.ino === opened.ino && now.dev === opened.dev;
}

function kindOf(entry: Dirent): Entry['type'] {
  if (entry.isDirectory()) return 'directory';
  return entry.isFile() ? 'file' : 'other';
}

/** A file with a second name could be one outside. */
function typeOf(stats: BigIntStats): Entry['type'] {
  if (stats.isDirectory()) return 'directory';
  return stats.isFile() && stats.nlink === 1n ? 'file' : 'other';
}
