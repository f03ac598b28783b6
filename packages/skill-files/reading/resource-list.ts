import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { type Inside, openBelow, openFolder, placeIn, type ProveBy } from './inside.ts';
import { isOwnFile } from './resource.ts';

export interface ResourceEntry {
  /** Relative to the skill's folder, with `/`. */
  readonly path: string;
  readonly size: number;
}

export interface ResourceList {
  /** The first 50, sorted by path. */
  readonly entries: readonly ResourceEntry[];
  readonly total: number;
  /** The walk ended early, so there are more than `total`. */
  readonly more: boolean;
}

const SHOWN = 50;
const MAX_ENTRIES = 5000;
const MAX_DEPTH = 8;

/** The files beside SKILL.md without links, hidden names and `node_modules`. Empty where the folder is gone. */
export async function listResources(realDirectory: string, proveBy?: ProveBy): Promise<ResourceList> {
  const files: ResourceEntry[] = [];
  const folder = await openFolder(realDirectory, proveBy);
  if (folder === null) return { entries: [], total: 0, more: false };
  const walk = { files, seen: 0 };
  try {
    await collect(folder, '', 1, walk);
  } finally {
    await folder.handle.close();
  }
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { entries: files.slice(0, SHOWN), total: files.length, more: walk.seen > MAX_ENTRIES };
}

async function collect(
  folder: Inside,
  prefix: string,
  depth: number,
  walk: { readonly files: ResourceEntry[]; seen: number },
): Promise<void> {
  for (const entry of [...(await entriesOf(folder))].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (++walk.seen > MAX_ENTRIES) return;
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
    if (entry.isFile() && !(depth === 1 && entry.name.toLowerCase() === 'skill.md')) {
      const size = await sizeOf(folder, entry.name);
      if (size !== null) walk.files.push({ path: prefix + entry.name, size });
    } else if (entry.isDirectory() && depth < MAX_DEPTH) {
      const below = await openBelow(folder, [entry.name], 'folder');
      if (below === null) continue; // swapped or gone meanwhile
      try {
        await collect(below, `${prefix}${entry.name}/`, depth + 1, walk);
      } finally {
        await below.handle.close();
      }
    }
  }
}

const MOVED: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

/** Empty for a folder that was moved away from the path by which it is read. */
async function entriesOf(folder: Inside): Promise<readonly Dirent[]> {
  try {
    return await readdir(placeIn(folder, ''), { withFileTypes: true });
  } catch (error) {
    if (folder.proveBy === 'path' && MOVED.has((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}

/** null for a file that is gone, no longer a file, or has a second name elsewhere. */
async function sizeOf(folder: Inside, name: string): Promise<number | null> {
  if (folder.proveBy === 'path') return sizeOfProven(folder, name);
  try {
    const stats = await lstat(placeIn(folder, name));
    return isOwnFile(stats) ? stats.size : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** A name that was read by the folder's path may belong to another folder. */
async function sizeOfProven(folder: Inside, name: string): Promise<number | null> {
  const file = await openBelow(folder, [name]);
  try {
    const stats = await file?.handle.stat();
    return stats !== undefined && isOwnFile(stats) ? stats.size : null;
  } finally {
    await file?.handle.close();
  }
}
