import { isUtf8 } from 'node:buffer';
import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { createHash } from 'node:crypto';
import { beginsAsScript } from './program.ts';
import { isSame, type Stamp, stampOf } from './stamp.ts';

/** The work between two yields, where one stat counts 1: about 5 ms. */
const SLICE = 400;

/** Yields to other work now and then. Use one for a whole task, however many folders it visits. */
export class Yielder {
  #spent = 0;

  /** Await the result where it is not null. */
  spend(cost: number): Promise<void> | null {
    this.#spent += cost;
    if (this.#spent < SLICE) return null;
    this.#spent = 0;
    return yieldToOthers();
  }
}

/** Runs the generator, and yields to other work where it yields. */
export async function inPieces<T>(work: Generator<void, T>): Promise<T> {
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return step.value;
    await yieldToOthers();
  }
}

/** `unnamed`: its name, or that of a folder above it, is not UTF-8, so that no text leads to it. It is not opened. */
export type EntryKind = 'file' | 'folder' | 'link' | 'other' | 'unnamed';

export interface TreeEntry {
  /** Relative to the folder, with `/`; empty for the folder itself. In an unnamed entry, bytes beyond ASCII are written as `\\xff`. */
  readonly path: string;
  readonly kind: EntryKind;
  readonly size: number;
  readonly executable: boolean;
  /** The number of hard links; a file with more than one may also be elsewhere. */
  readonly links: number;
  /** The target of a link; else empty. */
  readonly target: string;
  readonly stamp: Stamp;
  /** Only for a file that `withContents` has read. */
  readonly sha256?: string;
  /** It begins with `#!`, as a script does. Only for a file that `withContents` has read, since listing a tree opens no file. */
  readonly shebang?: boolean;
}

export type TreeFile = Pick<TreeEntry, 'path' | 'size' | 'executable' | 'links'>;
export type TreeLink = Pick<TreeEntry, 'path' | 'target'>;

/** All entries of a folder, hidden ones too; links are listed and not followed. */
export class FolderTree {
  readonly directory: string;
  /** Sorted by path; the first is the folder itself. */
  readonly entries: readonly TreeEntry[];
  /** The limit was reached, so there are more entries. */
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

/** Walks a folder. Rejects where it cannot be read. A caller that leaves an entry out must not use it either. */
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

/** Bytes where a name on the path is not UTF-8. */
type Place = string | Buffer;

/** In a text, invalid bytes become U+FFFD, and the path leads to nothing. */
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

/** The path of an entry. */
export function placeOf(directory: string, entry: string): string {
  return entry === '' ? directory : `${directory}/${entry}`;
}

function kindOf(stats: BigIntStats): EntryKind {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'folder';
  return stats.isSymbolicLink() ? 'link' : 'other';
}

/** The limits of a skill that is installed, or copied for its scripts. */
export const SKILL_LIMITS = {
  files: 2000,
  bytes: 50 * 1024 * 1024,
  /** Path components. */
  depth: 32,
} as const;

interface TreeLimits {
  readonly entries: number;
  /** Path components. */
  readonly depth: number;
}

/** Nobody can review a skill with more entries. */
export const TREE_LIMITS: TreeLimits = { entries: 10_000, depth: SKILL_LIMITS.depth };

/** A digest of a folder's names, contents, links and executable marks. Times and owners count only for unnamed entries. */
export async function treeDigest(folder: string): Promise<string> {
  const [digest] = digestsOf(await withContents(await folderTree(folder)), [() => true]);
  return `sha256:${digest}`;
}

/** The facts of a file that decide about trust. */
export interface FileContent {
  /** Hex digest. */
  readonly sha256: string;
  readonly shebang: boolean;
}

/** The same tree with the content facts of its files. Reads every file once, unless `known` has it. */
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

/** For each question, the hex digest of the entries to which it answers yes, in a tree with contents. */
export function digestsOf(tree: FolderTree, questions: readonly ((entry: TreeEntry) => boolean)[]): readonly string[] {
  const digests = questions.map(() => createHash('sha256'));
  for (const entry of tree.entries) {
    if (entry.kind === 'folder') continue; // its entries name it
    const content = entry.kind === 'file' ? entry.sha256 : standInOf(entry);
    const line = `${JSON.stringify([entry.kind, entry.path, entry.executable ? 'x' : '-', content])}\n`;
    for (const [at, asks] of questions.entries()) if (asks(entry)) digests[at]!.update(line);
  }
  if (tree.more) for (const digest of digests) digest.update('more\n');
  return digests.map((digest) => digest.digest('hex'));
}

/** What shows a change of an entry that is not opened. */
function standInOf({ kind, target, stamp }: TreeEntry): string {
  return kind === 'unnamed' ? stamp : target;
}

const buffer = Buffer.allocUnsafeSlow(64 * 1024);
/** How many bytes cost as much to read as one stat. */
const BYTES_PER_COST = 8 * 1024;

/** The content facts of a file. Rejects where the file is no longer the entry's. */
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
