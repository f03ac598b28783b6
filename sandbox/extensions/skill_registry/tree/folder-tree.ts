import { lstatSync, readdirSync, readlinkSync, type BigIntStats } from 'node:fs';
import { stampOf, type Stamp } from '../scan/stamp.ts';
import { Breather } from './breather.ts';

export type EntryKind = 'file' | 'folder' | 'link' | 'other';

export interface TreeEntry {
  /** Relative to the folder, with `/`; empty for the folder itself. */
  readonly path: string;
  readonly kind: EntryKind;
  readonly size: number;
  readonly executable: boolean;
  /** Names that it has in the file system; of a file more than one may lead elsewhere. */
  readonly links: number;
  /** Where a link leads; else empty. */
  readonly target: string;
  readonly stamp: Stamp;
}

export type TreeFile = Pick<TreeEntry, 'path' | 'size' | 'executable' | 'links'>;
export type TreeLink = Pick<TreeEntry, 'path' | 'target'>;

/** All that lies in a folder, hidden or not; links are named and not followed. */
export class FolderTree {
  readonly directory: string;
  /** The folder itself is the first. Sorted by path. */
  readonly entries: readonly TreeEntry[];
  /** There is more than was looked at. */
  readonly more: boolean;

  constructor(directory: string, entries: readonly TreeEntry[], more: boolean) {
    this.directory = directory;
    this.entries = entries;
    this.more = more;
  }

  get files(): readonly TreeEntry[] {
    return this.entries.filter(({ kind }) => kind === 'file');
  }

  /** Without the folder itself. */
  get folders(): readonly string[] {
    return this.#named('folder').slice(1);
  }

  get links(): readonly TreeLink[] {
    return this.entries.flatMap(({ kind, path: name, target }) => (kind === 'link' ? [{ path: name, target }] : []));
  }

  /** Pipes, sockets, devices. */
  get others(): readonly string[] {
    return this.#named('other');
  }

  #named(wanted: EntryKind): string[] {
    return this.entries.flatMap(({ kind, path: name }) => (kind === wanted ? [name] : []));
  }
}

/** Walks a folder. Rejects where it cannot be read. Whoever leaves something out must not use what lies there either. */
export async function folderTree(
  directory: string,
  limits: TreeLimits = TREE_LIMITS,
  { leavesOut, breather = new Breather() }: { readonly leavesOut?: (name: string) => boolean; readonly breather?: Breather } = {},
): Promise<FolderTree> {
  const root = entryAt(directory, lstatSync(directory, { bigint: true }), '');
  const entries = [root];
  let more = false;
  const open = root.kind === 'folder' ? [{ path: '', depth: 0 }] : [];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const name of readdirSync(placeOf(directory, folder.path))) {
      if (leavesOut?.(name) === true) continue;
      if (folder.depth >= limits.depth || entries.length >= limits.entries) {
        more = true;
        break;
      }
      const below = folder.path === '' ? name : `${folder.path}/${name}`;
      const stats = lstatSync(placeOf(directory, below), { bigint: true, throwIfNoEntry: false });
      if (stats === undefined) continue; // gone meanwhile
      const entry = entryAt(directory, stats, below);
      entries.push(entry);
      if (entry.kind === 'folder') open.push({ path: entry.path, depth: folder.depth + 1 });
      const pause = breather.spend(1);
      if (pause !== null) await pause;
    }
    if (more && entries.length >= limits.entries) break;
  }
  return new FolderTree(
    directory,
    entries.sort((a, b) => (a.path < b.path ? -1 : 1)),
    more,
  );
}

function entryAt(directory: string, stats: BigIntStats, name: string): TreeEntry {
  const kind = kindOf(stats);
  return {
    path: name,
    kind,
    size: Number(stats.size),
    executable: kind === 'file' && (stats.mode & 0o111n) !== 0n,
    links: Number(stats.nlink),
    target: kind === 'link' ? readlinkSync(placeOf(directory, name)) : '',
    stamp: stampOf(stats),
  };
}

/** Where an entry lies. */
export function placeOf(directory: string, entry: string): string {
  return entry === '' ? directory : `${directory}/${entry}`;
}

function kindOf(stats: BigIntStats): EntryKind {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'folder';
  return stats.isSymbolicLink() ? 'link' : 'other';
}

/** A file that can be run, by Pith or by anything else: marked so, named so, or lying where a skill's code lies. */
export function isProgram({ path, executable }: Pick<TreeEntry, 'path' | 'executable'>): boolean {
  return executable || CODE.test(path);
}

const CODE =
  /^(?:scripts|toolsets)\/|\.(?:[cm]?[jt]sx?|py|pyw|sh|bash|zsh|fish|rb|pl|php|lua|r|ps1|psm1|bat|cmd|exe|dll|so|dylib|node|wasm|jar|command|scpt|applescript)$/i;

/** What a skill may hold to be installed, and to be copied for its scripts. */
export const SKILL_LIMITS = {
  files: 2000,
  bytes: 50 * 1024 * 1024,
  /** Parts of a path. */
  depth: 32,
} as const;

interface TreeLimits {
  readonly entries: number;
  /** Parts of a path. */
  readonly depth: number;
}

/** More than this is no skill that anybody can look through. */
export const TREE_LIMITS: TreeLimits = { entries: 10_000, depth: SKILL_LIMITS.depth };
