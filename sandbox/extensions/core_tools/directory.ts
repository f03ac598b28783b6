import { constants, type BigIntStats } from 'node:fs';
import { mkdir, open, readlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from 'pith';
import { FileRefused, unavailable } from './refusal.ts';

const DESCRIPTORS = '/proc/self/fd';
const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * A folder held open. Names under it are reached through its descriptor, so that swapping a folder on the way for a
 * link changes nothing: what was checked is what is used. Each descriptor on the way was proven to have the path that
 * leads to it inside the root, by what the system says of the descriptor and not by a name.
 */
export class Directory {
  private constructor(
    private readonly handle: FileHandle,
    private readonly path: string,
  ) {}

  /** Opens `root`, a real path, and then each name below it, following no link. With `create`, missing folders are made. */
  static async open(root: string, names: readonly string[], options: { readonly create?: boolean } = {}): Promise<Directory> {
    let current = await Directory.root(root);
    for (const [depth, name] of names.entries()) {
      const parent = current;
      try {
        const handle = await openBelow(parent.at(name), options.create === true);
        current = await new Directory(handle, join(parent.path, name)).proven();
      } catch (error) {
        throw isAbsence(error) ? unavailable(names.slice(0, depth + 1).join('/')) : error;
      } finally {
        await parent.close();
      }
    }
    return current;
  }

  private static async root(root: string): Promise<Directory> {
    const handle = await open(root, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      await (await open(`${DESCRIPTORS}/${handle.fd}/.`, constants.O_RDONLY | constants.O_DIRECTORY)).close();
    } catch (error) {
      await handle.close();
      if (!isAbsence(error)) throw error;
      throw new FileRefused(
        'jail_unavailable',
        'Files cannot be kept inside the sandbox on this system, because it has no /proc; the file tools are off',
      );
    }
    return new Directory(handle, root).proven();
  }

  /** A path that leads to `name` in this very folder, wherever the folder is by now. */
  at(name: string): string {
    return `${DESCRIPTORS}/${this.handle.fd}/${name}`;
  }

  /** Opens `name` for reading, whatever it is; never through a link, and never waiting. */
  async openFile(name: string): Promise<OpenFile> {
    return new OpenFile(await open(this.at(name), FILE), join(this.path, name));
  }

  /** Throws the one refusal when the folder is no longer where it was found: it may have been moved outside. */
  async requireInside(): Promise<void> {
    if (!(await hasPath(this.handle, this.path))) throw unavailable('.');
  }

  /** Makes renames in the folder durable. */
  sync(): Promise<void> {
    return this.handle.sync();
  }

  close(): Promise<void> {
    return this.handle.close();
  }

  private async proven(): Promise<this> {
    try {
      await this.requireInside();
      return this;
    } catch (error) {
      await this.close();
      throw error;
    }
  }
}

/** A file held open, with the path that it must have. */
export class OpenFile {
  constructor(
    readonly handle: FileHandle,
    private readonly path: string,
  ) {}

  stat(): Promise<BigIntStats> {
    return this.handle.stat({ bigint: true });
  }

  /** False once it was unlinked, replaced or moved, and for a file that was reached by another name. */
  isInside(): Promise<boolean> {
    return hasPath(this.handle, this.path);
  }
}

/** Absent, a link, or not of the kind that was asked for. */
export function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO', 'ENAMETOOLONG', 'EMLINK'].includes(codeOf(error, ''));
}

async function hasPath({ fd }: FileHandle, path: string): Promise<boolean> {
  return (await readlink(`${DESCRIPTORS}/${fd}`)) === path;
}

async function openBelow(path: string, create: boolean): Promise<FileHandle> {
  try {
    return await open(path, FOLDER);
  } catch (error) {
    if (!create || codeOf(error, '') !== 'ENOENT') throw error;
  }
  await mkdir(path).catch((error: unknown) => {
    if (codeOf(error, '') !== 'EEXIST') throw error; // made by another in the meantime
  });
  return open(path, FOLDER);
}
