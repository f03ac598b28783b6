import { lstat, readdir } from 'node:fs/promises';
import { canProveInside, openBelow, openFolder, type Inside } from './inside.ts';

export interface ResourceEntry {
  /** Relative to the skill's folder, with `/`. */
  readonly path: string;
  readonly size: number;
}

export interface ResourceList {
  /** The first 50, sorted by path. */
  readonly entries: readonly ResourceEntry[];
  readonly total: number;
  /** Whether the walk ended early, so that there are more than `total`. */
  readonly more: boolean;
}

const SHOWN = 50;
const MAX_ENTRIES = 5000;
const MAX_DEPTH = 8;

/** The files beside SKILL.md; links, hidden names and `node_modules` are left out. Empty where nothing can be proven. */
export async function listResources(realDirectory: string): Promise<ResourceList> {
  const files: ResourceEntry[] = [];
  const folder = canProveInside() ? await openFolder(realDirectory) : null;
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
  const here = `/proc/self/fd/${folder.handle.fd}`;
  for (const entry of (await readdir(here, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (++walk.seen > MAX_ENTRIES) return;
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
    if (entry.isFile() && !(depth === 1 && entry.name.toLowerCase() === 'skill.md')) {
      const size = await sizeOf(`${here}/${entry.name}`);
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

/** null for what is gone, no longer a file, or has a second name elsewhere. */
async function sizeOf(file: string): Promise<number | null> {
  try {
    const stats = await lstat(file);
    return stats.isFile() && stats.nlink === 1 ? stats.size : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
