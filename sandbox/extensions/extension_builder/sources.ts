import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PithError } from 'pith';
import { syncFolder } from '@pith/safe-files';
import { notTextAt, printableLine } from '@pith/plain-text';

/** One file of an extension or a skill. */
export interface Source {
  /** Relative, with `/`. */
  readonly path: string;
  readonly bytes: Buffer;
}

const MAX_FILES = 1000;
const MAX_BYTES = 16 * 1024 * 1024;
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * The files of a folder by path; hidden ones, packages and an extension's `data` are no sources. Refuses links and whatever is no file,
 * so that what was looked at is what is copied. Rejects ENOENT when there is no folder.
 */
export async function readSources(directory: string): Promise<readonly Source[]> {
  const found: Source[] = [];
  let left = MAX_BYTES;
  const visit = async (folder: string, prefix: string): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const { name } = entry;
      const path = `${prefix}${name}`;
      if (name.startsWith('.') || name === 'node_modules' || path === 'data') continue;
      if (printableLine(name) !== name)
        throw refused(directory, `the name '${printableLine(path)}' contains what cannot be shown`, 'rename it');
      if (entry.isDirectory()) await visit(join(folder, name), `${path}/`);
      else if (!entry.isFile()) throw refused(directory, `'${path}' is a link or not a regular file`, 'put a file in its place');
      else {
        const bytes = await readRegular(join(folder, name), left);
        if (bytes === null || found.length >= MAX_FILES)
          throw refused(directory, `it has more than ${MAX_FILES} files or ${MAX_BYTES} bytes`, 'keep only sources in it');
        left -= bytes.length;
        found.push({ path, bytes });
      }
    }
  };
  await visit(directory, '');
  return found;
}

/** Names these very bytes. */
export function digestOf(sources: readonly Source[]): string {
  const hash = createHash('sha256');
  for (const { path, bytes } of sources) hash.update(`${path}\0${bytes.length}\0`).update(bytes);
  return hash.digest('hex');
}

/** Writes them into a folder that is made, each on disk before this resolves. */
export async function writeSources(directory: string, sources: readonly Source[]): Promise<void> {
  const folders = new Set([directory]);
  await mkdir(directory, { recursive: true });
  for (const { path, bytes } of sources) {
    const file = join(directory, path);
    folders.add(dirname(file));
    await mkdir(dirname(file), { recursive: true });
    const handle = await open(file, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW, 0o644);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
  for (const folder of folders) syncFolder(folder);
}

/** null: it has more bytes than there is room for. */
async function readRegular(file: string, room: number): Promise<Buffer | null> {
  const handle = await open(file, READ);
  try {
    return (await handle.stat()).size > room ? null : await handle.readFile();
  } finally {
    await handle.close();
  }
}

function refused(directory: string, why: string, cure: string): PithError {
  return new PithError('not_allowed', `the folder ${directory} cannot be used: ${why}`, { cure });
}

/** Files that are no text, which no person could be shown, and the first byte of each that is none. */
export function notText(sources: readonly Source[]): readonly { readonly path: string; readonly at: number }[] {
  return sources.flatMap(({ path, bytes }) => {
    const at = notTextAt(bytes);
    return at === null ? [] : [{ path, at }];
  });
}
