import { type BigIntStats, constants, existsSync, fstatSync, lstatSync } from 'node:fs';
import { open, readlink, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { realOf } from '../tree/stamp.ts';

/** A descriptor that was verified to be inside a folder, and its real path at that time. */
export interface Inside {
  readonly handle: FileHandle;
  readonly path: string;
  readonly proveBy: ProveBy;
}

/**
 * How a descriptor's place is verified: the system reports its path (`descriptor`); or the path leads to the very same file without a link
 * (`path`), and entries of an open folder are then reached by the folder's path.
 */
export type ProveBy = 'descriptor' | 'path';

const DESCRIPTORS = '/proc/self/fd';
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** What this system supports: without /proc a descriptor's path is unknown. */
export function provesBy(): ProveBy {
  return existsSync(DESCRIPTORS) ? 'descriptor' : 'path';
}

/** The folder itself; null when it is no longer where it was found. The caller closes the handle. */
export async function openFolder(realDirectory: string, proveBy = provesBy()): Promise<Inside | null> {
  return prove(await openOrNull(realDirectory, O_DIRECTORY), realDirectory, proveBy);
}

/** The path of an entry of an open folder. Unless it is by descriptor, only `openBelow` verifies that the entry is in that folder. */
function placeIn({ handle, path: folder, proveBy }: Inside, name: string): string {
  return proveBy === 'descriptor' ? `${DESCRIPTORS}/${handle.fd}/${name}` : path.join(folder, name);
}

/**
 * Walks `parts` below an open folder, one descriptor after the other and never through a link, so that nothing that is swapped meanwhile
 * leads outside. null when a part is missing, a link or of the wrong kind. The caller closes the handle.
 */
export async function openBelow(folder: Inside, parts: readonly string[], kind: 'file' | 'folder' = 'file'): Promise<Inside | null> {
  let current = folder;
  try {
    for (const [at, part] of parts.entries()) {
      const last = at === parts.length - 1;
      const flags = last && kind === 'file' ? 0 : O_DIRECTORY;
      const real = path.join(current.path, part);
      const next = await prove(await openOrNull(placeIn(current, part), flags), real, folder.proveBy);
      if (current !== folder) await current.handle.close();
      current = folder;
      if (next === null) return null;
      current = next;
    }
    const found = current === folder ? null : current;
    current = folder;
    return found;
  } finally {
    if (current !== folder) await current.handle.close();
  }
}

/** Whether the descriptor still has its verified path: false once it was unlinked or moved. */
export async function stillInside({ handle, path: expected, proveBy }: Inside): Promise<boolean> {
  if (proveBy === 'descriptor') return (await readlink(`${DESCRIPTORS}/${handle.fd}`)) === expected;
  for (let look = 0; look < LOOKS; look++) if (!leadsTo(handle, expected)) return false;
  return true;
}

/** One check asks the system twice, and a folder may be swapped for a link in between. Nobody hits that moment this many times in a row. */
const LOOKS = 16;

/** Whether a path without links ends at the descriptor's file. A file with a second name is refused, since it may be one from outside. */
function leadsTo({ fd }: FileHandle, expected: string): boolean {
  const there = entryAt(expected);
  if (there === null || there.isSymbolicLink() || realOf(expected) !== expected) return false;
  if (there.isFile() && there.nlink !== 1n && !isOfPackage(expected)) return false;
  const opened = fstatSync(fd, { bigint: true });
  return opened.dev === there.dev && opened.ino === there.ino;
}

/** Package installers link files to their store. */
export function isOfPackage(file: string): boolean {
  return file.includes('/node_modules/');
}

function entryAt(file: string): BigIntStats | null {
  try {
    return lstatSync(file, { bigint: true });
  } catch {
    return null; // gone, or not visible to us
  }
}

async function prove(handle: FileHandle | null, expected: string, proveBy: ProveBy): Promise<Inside | null> {
  if (handle === null) return null;
  const opened = { handle, path: expected, proveBy };
  if (await stillInside(opened)) return opened;
  await handle.close();
  return null;
}

/** null for every file system error of this path, so that nobody learns what is there; throws when no descriptors are left. */
async function openOrNull(file: string, flags: number): Promise<FileHandle | null> {
  try {
    return await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | flags);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM') throw error;
    return null;
  }
}
