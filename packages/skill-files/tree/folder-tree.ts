import { isUtf8 } from 'node:buffer';
import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { createHash } from 'node:crypto';
import { beginsAsScript } from './program.ts';
import { isSame, type Stamp, stampOf } from './stamp.ts';

/** Work between two yields, where one look at a file counts 1: about 5 ms. */
const SLICE = 400;

/** Lets others work now and then. One for a whole piece of work, however many folders it goes through. */
export class Yielder {
  #spent = 0;

  /** To be awaited where it is not null. */
  spend(cost: number): Promise<void> | null {
    this.#spent += cost;
    if (this.#spent < SLICE) return null;
    this.#spent = 0;
    return yieldToOthers();
  }
}

/** Does the work, letting others work where it yields. */
export async function inPieces<T>(work: Generator<void, T>): Promise<T> {
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return step.value;
    await yieldToOthers();
  }
}

/** `unnamed`: its name, or that of a folder above it, is not UTF-8, so that no text leads to it. It is not opened. */
export type EntryKind = 'file' | 'folder' | 'link' | 'other' | 'unnamed';

export interface TreeEntry {
  /** Relative to the folder, with `/`; empty for the folder itself. Of what is unnamed its bytes beyond ASCII are as `\\xff`. */
  readonly path: string;
  readonly kind: EntryKind;
  readonly size: number;
  readonly executable: boolean;
  /** Names that it has in the file system; of a file more than one may lead elsewhere. */
  readonly links: number;
  /** Where a link leads; else empty. */
  readonly target: string;
  readonly stamp: Stamp;
  /** Of a file that `withContents` has read. */
  readonly sha256?: string;
  /** Whether it begins with `#!`, as a script does. Of a file that `withContents` has read: looking at a tree opens none. */
  readonly shebang?: boolean;
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

  get unnamed(): readonly string[] {
    return this.#named('unnamed');
  }

  #named(wanted: EntryKind): string[] {
    return this.entries.flatMap(({ kind, path: name }) => (kind === wanted ? [name] : []));
  }
}

/** Walks a folder. Rejects where it cannot be read. Whoever leaves something out must not use what lies there either. */
export async function folderTree(
  directory: string,
  limits: TreeLimits = TREE_LIMITS,
  { leavesOut, yielder = new Yielder() }: { readonly leavesOut?: (name: string) => boolean; readonly yielder?: Yielder } = {},
): Promise<FolderTree> {
  const root = entryAt(directory, lstatSync(directory, { bigint: true }), '');
  const entries = [root];
  let more = false;
  const open: { readonly path: string; readonly place: Place; readonly depth: number }[] = [];
  if (root.kind === 'folder') open.push({ path: '', place: directory, depth: 0 });
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const name of namesIn(folder.place)) {
      const shown = typeof name === 'string' ? name : shownOf(name);
      if (leavesOut?.(shown) === true) continue;
      if (folder.depth >= limits.depth || entries.length >= limits.entries) {
        more = true;
        break;
      }
      const place = below(folder.place, name);
      const stats = lstatSync(place, { bigint: true, throwIfNoEntry: false });
      if (stats === undefined) continue; // gone meanwhile
      const entry = entryAt(place, stats, folder.path === '' ? shown : `${folder.path}/${shown}`);
      entries.push(entry);
      if (stats.isDirectory()) open.push({ path: entry.path, place, depth: folder.depth + 1 });
      const pause = yielder.spend(1);
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

/** Bytes where a name on the way is not UTF-8. */
type Place = string | Buffer;

/** Bytes that are not UTF-8 become U+FFFD in a text, which leads to nothing. */
function namesIn(folder: Place): readonly Place[] {
  const names = readdirSync(folder);
  if (!names.some((name) => name.includes('\ufffd'))) return names;
  return readdirSync(folder, { encoding: 'buffer' }).map((name) => (isUtf8(name) ? name.toString() : name));
}

function below(folder: Place, name: Place): Place {
  if (typeof folder === 'string' && typeof name === 'string') return placeOf(folder, name);
  return Buffer.concat([Buffer.from(folder), Buffer.from('/'), Buffer.from(name)]);
}

function shownOf(name: Buffer): string {
  return name.toString('latin1').replace(/[\x80-\xff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`);
}

function entryAt(place: Place, stats: BigIntStats, name: string): TreeEntry {
  const kind = typeof place === 'string' ? kindOf(stats) : 'unnamed';
  return {
    path: name,
    kind,
    size: Number(stats.size),
    executable: kind === 'file' && (stats.mode & 0o111n) !== 0n,
    links: Number(stats.nlink),
    target: kind === 'link' ? readlinkSync(place, 'utf8') : '',
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

/** One text that names what a folder holds: names, contents, links and which files can be run. Times and owners count only of what is unnamed. */
export async function treeDigest(folder: string): Promise<string> {
  const [digest] = digestsOf(await withContents(await folderTree(folder)), [() => true]);
  return `sha256:${digest}`;
}

/** What a file holds, as far as it decides about trust. */
export interface FileContent {
  /** Hex digest. */
  readonly sha256: string;
  readonly shebang: boolean;
}

/** The same tree with what its files hold. Every file is read once, unless `known` has its content. */
export async function withContents(
  tree: FolderTree,
  yielder = new Yielder(),
  known: ReadonlyMap<string, FileContent> = new Map(),
): Promise<FolderTree> {
  const entries: TreeEntry[] = [];
  for (const entry of tree.entries) {
    const content =
      entry.kind === 'file' ? (known.get(entry.path) ?? (await fileContent(placeOf(tree.directory, entry.path), entry, yielder))) : null;
    entries.push(content === null ? entry : { ...entry, sha256: content.sha256, shebang: content.shebang });
  }
  return new FolderTree(tree.directory, entries, tree.more);
}

/** For each question the hex digest of the entries to which it says yes, of a tree with its contents. */
export function digestsOf(tree: FolderTree, questions: readonly ((entry: TreeEntry) => boolean)[]): readonly string[] {
  const digests = questions.map(() => createHash('sha256'));
  for (const entry of tree.entries) {
    if (entry.kind === 'folder') continue; // what lies in it names it
    const content = entry.kind === 'file' ? entry.sha256 : standInOf(entry);
    const line = `${JSON.stringify([entry.kind, entry.path, entry.executable ? 'x' : '-', content])}\n`;
    for (const [at, asks] of questions.entries()) if (asks(entry)) digests[at]!.update(line);
  }
  if (tree.more) for (const digest of digests) digest.update('more\n');
  return digests.map((digest) => digest.digest('hex'));
}

/** What tells a change of what is not opened. */
function standInOf({ kind, target, stamp }: TreeEntry): string {
  return kind === 'unnamed' ? stamp : target;
}

const buffer = Buffer.allocUnsafeSlow(64 * 1024);
/** How much reading costs as much as a look at a file. */
const BYTES_PER_COST = 8 * 1024;

/** What a file holds. Rejects where it is no longer the one of the entry. */
export async function fileContent(full: string, { stamp }: Pick<TreeEntry, 'stamp'>, yielder: Yielder): Promise<FileContent> {
  const hash = createHash('sha256');
  let shebang: boolean | null = null;
  const descriptor = openSync(full, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    if (!isSame(stamp, fstatSync(descriptor, { bigint: true }))) throw new Error(`${full} changed while it was read`);
    for (let read = readSync(descriptor, buffer); read > 0; read = readSync(descriptor, buffer)) {
      shebang ??= beginsAsScript(buffer.subarray(0, read));
      hash.update(buffer.subarray(0, read));
      const pause = yielder.spend(read / BYTES_PER_COST);
      if (pause !== null) await pause;
    }
  } finally {
    closeSync(descriptor);
  }
  await yielder.spend(4);
  return { sha256: hash.digest('hex'), shebang: shebang ?? false };
}
