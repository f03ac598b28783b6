import { folderTree } from '../tree/folder-tree.ts';
import { type Inside, openBelow, openFolder, type ProveBy } from './inside.ts';
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
const LIMITS = { entries: 5000, depth: 8 };
const NONE: ResourceList = { entries: [], total: 0, more: false };
/** Of a folder that is moved away or swapped for a link while it is read. */
const MOVED: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EINVAL']);

/** The files beside SKILL.md without links, hidden names and `node_modules`. Empty where the folder is gone. Each that is shown is verified to be inside. */
export async function listResources(realDirectory: string, proveBy?: ProveBy): Promise<ResourceList> {
  const folder = await openFolder(realDirectory, proveBy);
  if (folder === null) return NONE;
  try {
    const leavesOut = (name: string) => name.startsWith('.') || name === 'node_modules';
    const { files, more } = await folderTree(realDirectory, LIMITS, { leavesOut });
    const own = files.filter(({ path, links }) => links === 1 && path.toLowerCase() !== 'skill.md');
    const entries: ResourceEntry[] = [];
    for (const { path } of own.slice(0, SHOWN)) {
      const size = await sizeOf(folder, path);
      if (size !== null) entries.push({ path, size });
    }
    return { entries, total: own.length, more };
  } catch (error) {
    if (!MOVED.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return NONE;
  } finally {
    await folder.handle.close();
  }
}

/** null for a file that is gone, no longer a file, or has a second name elsewhere. */
async function sizeOf(folder: Inside, path: string): Promise<number | null> {
  const file = await openBelow(folder, path.split('/'));
  try {
    const stats = await file?.handle.stat();
    return stats !== undefined && isOwnFile(stats) ? stats.size : null;
  } finally {
    await file?.handle.close();
  }
}
