import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import {
  digestsOf,
  type FileContent,
  folderTree,
  FolderTree,
  placeOf,
  TREE_LIMITS,
  type TreeEntry,
  withContents,
  type Yielder,
} from './folder-tree.ts';
import { isProgram } from './program.ts';
import { isSame, isSettled } from './stamp.ts';

/** A file of a skill as it was read. */
export interface CopiedFile {
  /** Relative to the skill's folder. */
  readonly path: string;
  /** Hex digest of what was read. */
  readonly sha256: string;
  readonly executable: boolean;
  /** It begins with `#!`. */
  readonly shebang: boolean;
}

/** All entries of a skill's folder: none is left out, because code may load any of them. */
export interface SkillTree {
  readonly tree: FolderTree;
  /** The hex digest of the entries' stamps: equal means that nothing has changed. */
  readonly stats: string;
  /** False: it changed so recently that another change could leave the same stamps. */
  readonly settled: boolean;
}

/** Hex digests of a tree. */
export interface TreeDigests {
  /** Covers every path with its kind and content. */
  readonly tree: string;
  /** Three digests, separated by blanks: of links, of scripts, of toolsets. Empty where there are none of the three. */
  readonly risk: string;
}

const BYTE_LIMIT = 256 * 1024 * 1024;

/** The tree now; `before` itself where nothing has changed. Rejects with the file system's error, or when it is too large. */
export async function readTree(directory: string, before: SkillTree | null, now: number, yielder: Yielder): Promise<SkillTree> {
  if (before?.settled === true && (await isUnchanged(before.tree, yielder))) return before;
  const tree = await folderTree(directory, TREE_LIMITS, { yielder: yielder });
  if (tree.more) throw new RangeError(`it has more than ${TREE_LIMITS.entries} files, or folders more than ${TREE_LIMITS.depth} deep`);
  const hash = createHash('sha256');
  for (const { path, kind, stamp } of tree.entries) hash.update(`${path}\0${kind} ${stamp}\0`);
  return { tree, stats: hash.digest('hex'), settled: tree.entries.every(({ stamp }) => isSettled(stamp, now)) };
}

/** A digest of the tree's own files in a copy: equal digests mean equal content. null: files are missing or added. */
export async function digestCopy(
  { tree }: SkillTree,
  copy: readonly CopiedFile[],
  declared: Declared,
  yielder: Yielder,
): Promise<TreeDigests | null> {
  const copied = new Map(copy.map((file) => [file.path, file]));
  const known = new Set(tree.files.map(({ path }) => path));
  const isWhole = tree.files.every(({ path, links }) => copied.has(path) || links > 1); // a file with a second name may be from elsewhere, so it is not copied
  if (!isWhole || !copy.every(({ path }) => known.has(path))) return null;
  const entries = tree.entries.map((entry) => ({ ...entry, executable: copied.get(entry.path)?.executable ?? entry.executable }));
  const contents = new Map(copy.map(({ path, sha256, shebang }) => [path, { sha256, shebang }]));
  return digestTree({ tree: new FolderTree(tree.directory, entries, tree.more) }, declared, yielder, contents);
}

/** Reads every file that `contents` lacks. `declared`: the scripts and toolsets of the frontmatter. */
export async function digestTree(
  { tree: found }: Pick<SkillTree, 'tree'>,
  declared: Declared,
  yielder: Yielder,
  contents?: ReadonlyMap<string, FileContent>,
): Promise<TreeDigests> {
  const bytes = found.files.reduce((sum, { size }) => sum + size, 0);
  if (bytes > BYTE_LIMIT) throw new RangeError(`its files are larger than ${BYTE_LIMIT} bytes together`);
  const tree = await withContents(found, yielder, contents); // only a file's content shows whether it begins as a script
  const isDeclared = declared.scripts.length + declared.toolsets.length > 0;
  const runs = isDeclared || tree.files.some(isProgram);
  const isLink = ({ kind }: TreeEntry): boolean => kind !== 'file' && kind !== 'folder';
  const isCode = (entry: TreeEntry): boolean => !isLink(entry) && isRisky(entry, runs);
  const [whole, links, code] = digestsOf(tree, [() => true, isLink, isCode]) as [string, string, string];
  const parts = [
    tree.entries.some(isLink) ? links : '',
    tree.entries.some(isCode) || declared.scripts.length > 0 ? digestOf(declared.scripts, code) : '',
    declared.toolsets.length > 0 ? digestOf(declared.toolsets, '') : '',
  ];
  return { tree: whole, risk: parts.some((part) => part !== '') ? parts.map((part) => part || NONE).join(' ') : '' };
}

const NONE = '-';
const RISKS = ['links', 'scripts', 'toolsets'];

/**
 * Which of links, scripts and toolsets have changed, as words for people; empty: none. A digest of an earlier format counts as changed in
 * all.
 */
export function changedRisks(before: string, now: string): string {
  if (before === now) return '';
  const [former, present] = [before, now].map((risk) => (risk === '' ? RISKS.map(() => NONE) : risk.split(' '))) as [string[], string[]];
  if (former.length !== RISKS.length) return 'links, scripts or toolsets';
  return RISKS.filter((_, at) => former[at] !== present[at]).join(' and ');
}

function digestOf(declared: readonly unknown[], code: string): string {
  return createHash('sha256').update(JSON.stringify(declared)).update(code).digest('hex');
}

/** The runnable parts that a skill's frontmatter declares. */
export interface Declared {
  readonly scripts: readonly unknown[];
  readonly toolsets: readonly unknown[];
}

/** A link, or a file that may be run. In a skill with anything runnable, all files but prose count, because code may read any of them. */
export function isRisky(entry: Pick<TreeEntry, 'path' | 'kind' | 'executable' | 'shebang'>, runs: boolean): boolean {
  if (entry.kind === 'folder') return false;
  return entry.kind !== 'file' || isProgram(entry) || (runs && !PROSE.test(entry.path));
}

const PROSE = /\.(?:md|markdown|mdx|txt|rst|adoc|png|jpe?g|gif|svg|webp|pdf)$/i;

async function isUnchanged({ directory, entries }: FolderTree, yielder: Yielder): Promise<boolean> {
  for (const { path, stamp } of entries) {
    const stats = lstatSync(placeOf(directory, path), { bigint: true, throwIfNoEntry: false });
    if (stats === undefined || !isSame(stamp, stats)) return false;
    const pause = yielder.spend(1);
    if (pause !== null) await pause;
  }
  return true;
}
