import { constants, existsSync } from 'node:fs';
import { open, readlink, type FileHandle } from 'node:fs/promises';
import path from 'node:path';

/** A descriptor that was proven to lie inside a folder, and the real path that it had then. */
export interface Inside {
  readonly handle: FileHandle;
  readonly path: string;
}

const DESCRIPTORS = '/proc/self/fd';
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** Whether a descriptor's real path can be asked for here. Where it cannot, nothing is read by path. */
export function canProveInside(descriptors = DESCRIPTORS): boolean {
  return existsSync(descriptors);
}

/** The folder itself; null when it is no longer where it was found. The caller closes the handle. */
export async function openFolder(realDirectory: string): Promise<Inside | null> {
  return prove(await openOrNull(realDirectory, O_DIRECTORY), realDirectory);
}

/**
 * Walks `parts` below an open folder, one descriptor after the other and never through a link, so that nothing that is
 * swapped meanwhile leads outside. null when any part is missing, a link or not what it should be. The caller closes the handle.
 */
export async function openBelow(folder: Inside, parts: readonly string[], kind: 'file' | 'folder' = 'file'): Promise<Inside | null> {
  let current = folder;
  try {
    for (const [at, part] of parts.entries()) {
      const last = at === parts.length - 1;
      const flags = last && kind === 'file' ? 0 : O_DIRECTORY;
      const real = path.join(current.path, part);
      const next = await prove(await openOrNull(`${DESCRIPTORS}/${current.handle.fd}/${part}`, flags), real);
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

/** Whether the descriptor still has the path that it was proven to have: false once it was unlinked or moved. */
export async function stillInside({ handle, path: expected }: Inside): Promise<boolean> {
  return (await readlink(`${DESCRIPTORS}/${handle.fd}`)) === expected;
}

async function prove(handle: FileHandle | null, expected: string): Promise<Inside | null> {
  if (handle === null) return null;
  const opened = { handle, path: expected };
  if (await stillInside(opened)) return opened;
  await handle.close();
  return null;
}

/** null for whatever the file system says of this path, so that nobody learns what it is; throws when there are no descriptors left. */
async function openOrNull(file: string, flags: number): Promise<FileHandle | null> {
  try {
    return await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | flags);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM') throw error;
    return null;
  }
}
