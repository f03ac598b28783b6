import { isCaseOfSkill, type Reach, readRange } from '@pith/safe-files';
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
  const listed = await unlessMoved(async () => {
    const { paths, more } = await ownFiles(realDirectory);
    const entries: ResourceEntry[] = [];
    for (const path of paths.slice(0, SHOWN)) {
      const found = await unlessRefused(jail.stat(path.split('/')));
      if (found?.type === 'file') entries.push({ path, size: found.size });
    }
    return { entries, total: paths.length, more };
  });
  return listed ?? NONE;
}

/** The bytes of `SKILL.md`, which lies in `skillFile`, and of all that `listResources` lists, by path. null: the folder is gone, or holds more than the limits. */
export async function readableFiles(
  realDirectory: string,
  skillFile: string,
  limits: { readonly files: number; readonly bytes: number },
): Promise<Readonly<Record<string, Uint8Array>> | null> {
  const jail = skillJail(realDirectory);
  if (jail === null) return null;
  return unlessMoved(async () => {
    const { paths, more } = await ownFiles(realDirectory);
    if (more || paths.length + 1 > limits.files) return null;
    const files = new Map<string, Uint8Array>();
    let left = limits.bytes;
    for (const path of ['SKILL.md', ...paths]) {
      const components = path === 'SKILL.md' ? [skillFile] : path.split('/');
      const read = await unlessRefused(jail.read(components, async (file, size) => (size > left ? null : readRange(file, 0, size))));
      if (read === null) return null; // the list of a skill's files is complete, or there is none
      left -= read.byteLength;
      files.set(path, read);
    }
    return Object.fromEntries(files);
  });
}

async function ownFiles(realDirectory: string): Promise<{ readonly paths: readonly string[]; readonly more: boolean }> {
  const leavesOut = (name: string) => name.startsWith('.') || name === 'node_modules';
  const { files, more } = await folderTree(realDirectory, LIMITS, { leavesOut });
  const own = files.filter(({ path, links }) => links === 1 && path.toLowerCase() !== 'skill.md' && !isCaseOfSkill(path));
  return { paths: own.map(({ path }) => path), more };
}

async function unlessMoved<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!MOVED.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return null;
  }
}
