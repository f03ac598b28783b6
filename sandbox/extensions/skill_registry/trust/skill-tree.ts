import { createHash, type Hash } from 'node:crypto';
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readlinkSync, readSync, type BigIntStats } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { isSame, isSettled, stampOf, type Stamp } from '../scan/stamp.ts';

export type EntryKind = 'file' | 'folder' | 'link' | 'other';

export interface TreeEntry {
  /** Relative to the skill's folder, with `/`; empty for the folder itself. */
  readonly path: string;
  readonly kind: EntryKind;
  readonly executable: boolean;
  readonly stamp: Stamp;
}

/** All that lies in a skill's folder, links not followed, `.git` left out. Sorted by path. */
export interface SkillTree {
  readonly directory: string;
  readonly entries: readonly TreeEntry[];
  /** Hex digest of what the file system says of the entries: the same means that nothing has changed. */
  readonly stats: string;
  /** False: it changed so recently that a further change could leave the same stats. */
  readonly settled: boolean;
}

/** What a tree holds, as hex digests. */
export interface TreeDigests {
  /** Of every path with its kind and content. */
  readonly tree: string;
  /** Of links and of what may be run; empty where there is none. */
  readonly risk: string;
}

/** More than this is no skill that anybody can look through. */
const ENTRY_LIMIT = 10_000;
const BYTE_LIMIT = 256 * 1024 * 1024;
const ENTRIES_AT_ONCE = 500;
const BYTES_AT_ONCE = 4 * 1024 * 1024;
const buffer = Buffer.allocUnsafeSlow(64 * 1024);

/** The tree as it is now; `before` itself where nothing has changed since. Rejects with what the file system says, or when it is too large. */
export async function readTree(directory: string, before: SkillTree | null, now: number): Promise<SkillTree> {
  if (before?.settled === true && isUnchanged(before)) return before;
  const entries: TreeEntry[] = [];
  const hash = createHash('sha256');
  let settled = true;
  const waiting = [''];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (entries.length >= ENTRY_LIMIT) throw new RangeError(`it has more than ${ENTRY_LIMIT} files`);
    const full = join(directory, path);
    const stats = lstatSync(full, { bigint: true });
    const entry = { path, kind: kindOf(stats), executable: (stats.mode & 0o111n) !== 0n && stats.isFile(), stamp: stampOf(stats) };
    entries.push(entry);
    settled &&= isSettled(entry.stamp, now);
    if (entry.kind === 'folder')
      for (const name of readdirSync(full)) if (name !== '.git') waiting.push(path === '' ? name : `${path}/${name}`);
    if (entries.length % ENTRIES_AT_ONCE === 0) await breathe();
  }
  entries.sort((a, b) => (a.path < b.path ? -1 : 1));
  for (const { path, kind, stamp } of entries)
    hash.update(`${path}\0${kind} ${stamp.mtimeNs} ${stamp.ctimeNs} ${stamp.size} ${stamp.inode}\0`);
  return { directory, entries, stats: hash.digest('hex'), settled };
}

/** Reads every file. `declared`: what the frontmatter says of scripts and toolsets. */
export async function digestTree({ directory, entries }: SkillTree, declared: Declared): Promise<TreeDigests> {
  const tree = createHash('sha256');
  const risk = createHash('sha256');
  const runs = declared.scripts.length + declared.toolsets.length > 0;
  if (runs) risk.update(JSON.stringify([declared.scripts, declared.toolsets]));
  let risky = runs;
  let bytes = 0;
  let spent = 0;
  for (const entry of entries) {
    if (entry.kind === 'folder') continue; // what lies in it names it
    const size = Number(entry.stamp.size);
    bytes += size;
    spent += size;
    if (bytes > BYTE_LIMIT) throw new RangeError(`its files are larger than ${BYTE_LIMIT} bytes together`);
    const line = `${entry.path}\0${entry.kind}${entry.executable ? ' executable' : ''}\0${contentOf(join(directory, entry.path), entry)}\0`;
    tree.update(line);
    if (isRisky(entry, runs)) {
      risk.update(line);
      risky = true;
    }
    if (spent > BYTES_AT_ONCE) {
      spent = 0;
      await breathe();
    }
  }
  return { tree: tree.digest('hex'), risk: risky ? risk.digest('hex') : '' };
}

/** What a skill's frontmatter says of what can be run. */
export interface Declared {
  readonly scripts: readonly unknown[];
  readonly toolsets: readonly unknown[];
}

/** A link, or what may be run. Of a skill that declares scripts or toolsets that is all but prose, because code may read any of it. */
export function isRisky({ path, kind, executable }: Pick<TreeEntry, 'path' | 'kind' | 'executable'>, runs: boolean): boolean {
  if (kind === 'folder') return false;
  return kind !== 'file' || executable || RUN.test(path) || (runs && !PROSE.test(path));
}

const RUN =
  /^(?:scripts|toolsets)\/|\.(?:[cm]?[jt]sx?|py|pyw|sh|bash|zsh|fish|rb|pl|php|lua|ps1|psm1|bat|cmd|exe|dll|so|dylib|node|wasm|jar|applescript|r)$/i;
const PROSE = /\.(?:md|markdown|mdx|txt|rst|adoc|png|jpe?g|gif|svg|webp|pdf)$/i;

function isUnchanged({ directory, entries }: SkillTree): boolean {
  for (const { path, stamp } of entries) {
    const stats = lstatSync(join(directory, path), { bigint: true, throwIfNoEntry: false });
    if (stats === undefined || !isSame(stamp, stats)) return false;
  }
  return true;
}

function kindOf(stats: BigIntStats): EntryKind {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'folder';
  return stats.isSymbolicLink() ? 'link' : 'other';
}

function contentOf(full: string, { kind, stamp }: TreeEntry): string {
  if (kind === 'link') return readlinkSync(full);
  if (kind === 'other') return '';
  const hash = createHash('sha256');
  const descriptor = openSync(full, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    if (!isSame(stamp, fstatSync(descriptor, { bigint: true }))) throw new Error(`${full} changed while it was read`);
    copyTo(hash, descriptor);
  } finally {
    closeSync(descriptor);
  }
  return hash.digest('hex');
}

function copyTo(hash: Hash, descriptor: number): void {
  for (let read = readSync(descriptor, buffer); read > 0; read = readSync(descriptor, buffer)) hash.update(buffer.subarray(0, read));
}
