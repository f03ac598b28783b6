import { lstat, readdir, readlink } from 'node:fs/promises';
import path from 'node:path';

export interface TreeFile {
  /** Relative to the folder, with `/`. */
  readonly path: string;
  readonly size: number;
  readonly executable: boolean;
  /** Names that this file has in the file system; more than one may lead elsewhere. */
  readonly links: number;
}

export interface TreeLink {
  readonly path: string;
  readonly target: string;
}

/** All that lies in a folder; links are named and not followed. Sorted by path. */
export interface FolderTree {
  readonly files: readonly TreeFile[];
  readonly folders: readonly string[];
  readonly links: readonly TreeLink[];
  /** Pipes, sockets, devices. */
  readonly others: readonly string[];
  /** There is more than was looked at. */
  readonly more: boolean;
}

export interface TreeLimits {
  readonly entries: number;
  readonly depth: number;
}

export const TREE_LIMITS: TreeLimits = { entries: 5000, depth: 32 };

/** Walks a folder, leaving out what is named so. Rejects where it cannot be read. */
export async function folderTree(
  folder: string,
  limits: TreeLimits = TREE_LIMITS,
  leavesOut: (name: string) => boolean = () => false,
): Promise<FolderTree> {
  const files: TreeFile[] = [];
  const folders: string[] = [];
  const links: TreeLink[] = [];
  const others: string[] = [];
  let seen = 0;
  let more = false;
  const open: { readonly path: string; readonly depth: number }[] = [{ path: '', depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const entry of await readdir(path.join(folder, next.path), { withFileTypes: true })) {
      if (leavesOut(entry.name)) continue;
      if (++seen > limits.entries) {
        more = true;
        break;
      }
      const below = next.path === '' ? entry.name : `${next.path}/${entry.name}`;
      const place = path.join(folder, below);
      if (entry.isSymbolicLink()) links.push({ path: below, target: await readlink(place) });
      else if (entry.isDirectory()) {
        folders.push(below);
        if (next.depth >= limits.depth) more = true;
        else open.push({ path: below, depth: next.depth + 1 });
      } else if (entry.isFile()) {
        const stats = await lstat(place);
        files.push({ path: below, size: stats.size, executable: (stats.mode & 0o111) !== 0, links: stats.nlink });
      } else others.push(below);
    }
    if (more && seen > limits.entries) break;
  }
  const byPath = (a: { readonly path: string }, b: { readonly path: string }) => (a.path < b.path ? -1 : 1);
  return { files: files.sort(byPath), folders: folders.sort(), links: links.sort(byPath), others: others.sort(), more };
}
