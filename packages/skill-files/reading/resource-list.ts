import { isCaseOfSkill, type Reach } from '@pith/safe-files';
import { folderTree } from '../tree/folder-tree.ts';
import { skillJail, unlessRefused } from './skill-jail.ts';

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

/** The files beside SKILL.md without its cases, links, hidden names and `node_modules`. Empty where the folder is gone. Each that is shown is verified to be inside. */
export async function listResources(realDirectory: string, reach?: Reach): Promise<ResourceList> {
  const jail = skillJail(realDirectory, reach);
  if (jail === null) return NONE;
  try {
    const leavesOut = (name: string) => name.startsWith('.') || name === 'node_modules';
    const { files, more } = await folderTree(realDirectory, LIMITS, { leavesOut });
    const own = files.filter(({ path, links }) => links === 1 && path.toLowerCase() !== 'skill.md' && !isCaseOfSkill(path));
    const entries: ResourceEntry[] = [];
    for (const { path } of own.slice(0, SHOWN)) {
      const found = await unlessRefused(jail.stat(path.split('/')));
      if (found?.type === 'file') entries.push({ path, size: found.size });
    }
    return { entries, total: own.length, more };
  } catch (error) {
    if (!MOVED.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return NONE;
  }
}
