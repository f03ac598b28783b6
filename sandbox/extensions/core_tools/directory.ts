import { constants } from 'node:fs';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { codeOf } from 'pith';
import { FileRefused, unavailable } from './refusal.ts';

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * A folder held open. Names under it are reached through its descriptor, so that swapping a folder on the way for a
 * link changes nothing: what was checked is what is used.
 */
export class Directory {
  private constructor(private readonly handle: FileHandle) {}

  /** Opens `root` and then each name below it, following no link. With `create`, missing folders are made. */
  static async open(root: string, names: readonly string[], options: { readonly create?: boolean } = {}): Promise<Directory> {
    let current = new Directory(await openRoot(root));
    for (const [depth, name] of names.entries()) {
      const parent = current;
      try {
        current = new Directory(await openBelow(parent.at(name), options.create === true));
      } catch (error) {
        throw isAbsence(error) ? unavailable(names.slice(0, depth + 1).join('/')) : error;
      } finally {
        await parent.close();
      }
    }
    return current;
  }

  /** A path that leads to `name` in this very folder, wherever the folder is by now. */
  at(name: string): string {
    return `/proc/self/fd/${this.handle.fd}/${name}`;
  }

  /** Makes renames in the folder durable. */
  sync(): Promise<void> {
    return this.handle.sync();
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}

/** Absent, a link, or not of the kind that was asked for. */
export function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO', 'ENAMETOOLONG', 'EMLINK'].includes(codeOf(error, ''));
}

async function openRoot(root: string): Promise<FileHandle> {
  const handle = await open(root, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await (await open(`/proc/self/fd/${handle.fd}/.`, constants.O_RDONLY | constants.O_DIRECTORY)).close();
    return handle;
  } catch (error) {
    await handle.close();
    if (!isAbsence(error)) throw error;
    throw new FileRefused(
      'jail_unavailable',
      'Files cannot be kept inside the sandbox on this system, because it has no /proc; the file tools are off',
    );
  }
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
