import { realpathSync, type BigIntStats } from 'node:fs';
import { lstat, readdir, rename, rmdir, unlink, type FileHandle } from 'node:fs/promises';
import { codeOf } from 'pith';
import { Directory, isAbsence } from './directory.ts';
import { FileRefused, unavailable } from './refusal.ts';
import { StagedFile } from './staged-file.ts';

/** A file may be replaced while it is read, by a write of ours too; who replaces it every time gets a refusal. */
const READ_ATTEMPTS = 3;

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

  constructor(root: string) {
    this.root = realpathSync(root);
  }

  /**
   * Opens a regular file and checks what was opened, before `use` and after it. What `use` returns is given out only when the system
   * says of the descriptor that it lies at its place inside, and the name still stands for that very file: a second name that is taken
   * away in between makes a file from outside look like one of ours.
   */
  async read<T>(segments: readonly string[], use: (handle: FileHandle, size: number) => Promise<T>): Promise<T> {
    return this.inFolderOf(segments, async (folder, name) => {
      for (let attempt = 1; attempt <= READ_ATTEMPTS; attempt += 1) {
        const file = await folder.openFile(name).catch((error: unknown) => {
          throw isAbsence(error) ? unavailable(segments.join('/')) : error;
        });
        try {
          const stats = await file.stat();
          if (typeOf(stats) !== 'file') throw unavailable(segments.join('/'));
          if (!(await file.isInside())) continue;
          const result = await use(file.handle, Number(stats.size));
          const isNamed = isSame(stats, await this.lstatOrRefuse(folder, name, segments));
          if (isNamed && isSame(stats, await file.stat()) && (await file.isInside())) return result;
        } finally {
          await file.handle.close();
        }
      }
      throw unavailable(segments.join('/'));
    });
  }

  /** null when there is nothing. */
  async stat(segments: readonly string[]): Promise<Entry | null> {
    if (segments.length === 0) return entryOf('.', await lstat(this.root, { bigint: true }));
    return orNull(this.inFolderOf(segments, async (folder, name) => entryOf(name, await lstat(folder.at(name), { bigint: true }))));
  }

  /** The names in a folder; none where it is not one. */
  async names(segments: readonly string[]): Promise<readonly string[]> {
    return (await orNull(this.inFolder(segments, (folder) => readdir(folder.at('.'))))) ?? [];
  }

  /** Sorted by name. */
  async list(segments: readonly string[], limit: number): Promise<{ readonly entries: readonly Entry[]; readonly total: number }> {
    return this.inFolder(segments, async (folder) => {
      const names = (await readdir(folder.at('.'))).sort();
      const entries: Entry[] = [];
      for (const name of names.slice(0, limit)) {
        const stats = await lstat(folder.at(name), { bigint: true }).catch((error: unknown) => {
          if (!isAbsence(error)) throw error;
          return null; // removed while listing
        });
        if (stats !== null) entries.push(entryOf(name, stats));
      }
      return { entries, total: names.length };
    });
  }

  /** Writes the bytes to disk, next to their place; nothing is visible before `commit`. Missing folders are made. */
  async stage(segments: readonly string[], bytes: Uint8Array): Promise<StagedFile> {
    const { parents, name } = split(segments);
    const folder = await Directory.open(this.root, parents, { create: true });
    try {
      const mode = await this.modeOfReplaced(folder, name, segments);
      await folder.requireInside();
      return await StagedFile.write(folder, name, bytes, mode);
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  /** Moves a regular file. What stands at `to` is replaced. */
  async move(from: readonly string[], to: readonly string[]): Promise<void> {
    const target = split(to);
    await this.inFolderOf(from, async (source, name) => {
      await this.requireFile(source, name, from);
      const folder = await Directory.open(this.root, target.parents, { create: true });
      try {
        await this.modeOfReplaced(folder, target.name, to);
        await source.requireInside();
        await folder.requireInside();
        await rename(source.at(name), folder.at(target.name));
        await folder.sync();
        await source.sync();
      } finally {
        await folder.close();
      }
    });
  }

  /** Removes a regular file or an empty folder. */
  async remove(segments: readonly string[]): Promise<void> {
    await this.inFolderOf(segments, async (folder, name) => {
      const stats = await this.lstatOrRefuse(folder, name, segments);
      await folder.requireInside();
      if (stats.isDirectory()) {
        await rmdir(folder.at(name)).catch((error: unknown) => {
          if (codeOf(error, '') !== 'ENOTEMPTY') throw error;
          throw new FileRefused('folder_not_empty', `'${segments.join('/')}' is a folder with content; delete its files first`);
        });
      } else {
        await this.requireFile(folder, name, segments);
        await unlink(folder.at(name));
      }
      await folder.sync();
    });
  }

  private async modeOfReplaced(folder: Directory, name: string, segments: readonly string[]): Promise<number | null> {
    const stats = await lstat(folder.at(name), { bigint: true }).catch((error: unknown) => {
      if (codeOf(error, '') !== 'ENOENT') throw error;
      return null;
    });
    if (stats !== null && typeOf(stats) !== 'file') throw unavailable(segments.join('/'));
    return stats === null ? null : Number(stats.mode & 0o777n);
  }

  private async requireFile(folder: Directory, name: string, segments: readonly string[]): Promise<void> {
    if (typeOf(await this.lstatOrRefuse(folder, name, segments)) !== 'file') throw unavailable(segments.join('/'));
  }

  private lstatOrRefuse(folder: Directory, name: string, segments: readonly string[]): Promise<BigIntStats> {
    return lstat(folder.at(name), { bigint: true }).catch((error: unknown) => {
      throw isAbsence(error) ? unavailable(segments.join('/')) : error;
    });
  }

  private inFolderOf<T>(segments: readonly string[], use: (folder: Directory, name: string) => Promise<T>): Promise<T> {
    const { parents, name } = split(segments);
    return this.inFolder(parents, (folder) => use(folder, name));
  }

  private async inFolder<T>(segments: readonly string[], use: (folder: Directory) => Promise<T>): Promise<T> {
    const folder = await Directory.open(this.root, segments);
    try {
      return await use(folder);
    } finally {
      await folder.close();
    }
  }
}

async function orNull<T>(work: Promise<T>): Promise<T | null> {
  return work.catch((error: unknown) => {
    if (isAbsence(error) || (error instanceof FileRefused && error.code === 'file_unavailable')) return null;
    throw error;
  });
}

function split(segments: readonly string[]): { readonly parents: readonly string[]; readonly name: string } {
  const name = segments.at(-1);
  if (name === undefined) throw unavailable('.');
  return { parents: segments.slice(0, -1), name };
}

function entryOf(name: string, stats: BigIntStats): Entry {
  return { name, type: typeOf(stats), size: Number(stats.size), modified: stats.mtime.toISOString() };
}

function isSame(opened: BigIntStats, now: BigIntStats): boolean {
  return typeOf(now) === 'file' && now.ino === opened.ino && now.dev === opened.dev;
}

/** A file with a second name could be one that lives outside. */
function typeOf(stats: BigIntStats): Entry['type'] {
  if (stats.isDirectory()) return 'directory';
  return stats.isFile() && stats.nlink === 1n ? 'file' : 'other';
}
