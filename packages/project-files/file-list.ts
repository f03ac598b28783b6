import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { codeOf, isPassing, type Jail } from '@pith/safe-files';
import { runGit } from './git.ts';
import { ignoreRules, type IgnoreRules } from './ignore-rules.ts';

export interface FileList {
  /** Paths relative to the folder, joined by `/`; sorted. */
  readonly paths: readonly string[];
  /** There are more files than were requested. */
  readonly isCut: boolean;
  /** Folders and `.gitignore` files that a walk could not read: files in the one are absent, and files that the other ignores are not. */
  readonly unread: readonly string[];
}

interface Wanted {
  /** Names that lead to the file or folder to start at; default: the folder itself. */
  readonly below?: readonly string[];
  readonly most: number;
  /** The most entries of a walk, where git cannot be asked; default `most`. */
  readonly mostWalked?: number;
  /** False where the person does not trust the folder: git is not started there. Default true. */
  readonly useGit?: boolean;
}

/** The files that git lists, tracked or new; without git, a walk that respects `.gitignore` files. */
export async function listFiles(
  jail: Jail,
  { below = [], most, mostWalked = most, useGit = true }: Wanted,
  signal: AbortSignal,
): Promise<FileList> {
  const listed = useGit ? await listedByGit(jail, below, signal) : null;
  const unread: string[] = [];
  const found = listed ?? (await walked(jail, { below, most: mostWalked, unread }, signal));
  const bound = listed === null ? mostWalked : most;
  return { paths: [...found].sort().slice(0, bound), isCut: found.length > bound, unread: unread.sort() };
}

async function listedByGit(jail: Jail, below: readonly string[], signal: AbortSignal): Promise<readonly string[] | null> {
  const place = below.length === 0 ? '.' : `:(literal)${below.join('/')}`;
  const printed = await runGit(jail.root, ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', place], signal);
  return printed === null ? null : [...new Set(printed.split('\0').filter(isInside))];
}

/** A git index may contain any name, also one that leads out. */
function isInside(file: string): boolean {
  return file !== '' && !file.startsWith('/') && !file.split('/').includes('..');
}

const MOST_IN_FOLDER = 100_000;
/** How many files are examined before the walk yields. */
const AT_ONCE = 2000;
const NEVER: ReadonlySet<string> = new Set(['.git', 'node_modules', '.hg', '.svn', '.venv', '__pycache__']);

async function walked(
  jail: Jail,
  { below, most, unread }: { readonly below: readonly string[]; readonly most: number; readonly unread: string[] },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found: string[] = [];
  let looked = 0;
  const walk = async (names: readonly string[], above: readonly FolderRules[]): Promise<void> => {
    signal.throwIfAborted();
    if (found.length > most) return;
    const listed = await readable(jail.list(names, MOST_IN_FOLDER), names, unread);
    if (listed === null) return;
    const { entries } = listed;
    const rules = [...above, { depth: names.length, rules: await rulesIn(jail, names, unread) }];
    if ((looked += entries.length) > AT_ONCE) {
      looked = 0;
      await yieldToOthers();
    }
    for (const { name, type } of entries) {
      const path = [...names, name];
      if (NEVER.has(name) || isIgnored(rules, path, type === 'directory')) continue;
      if (type === 'file') found.push(path.join('/'));
      if (type === 'directory') await walk(path, rules);
    }
  };
  const start = await jail.stat(below);
  const rulesAt = async (depth: number) => ({ depth, rules: await rulesIn(jail, below.slice(0, depth), unread) });
  const above = await Promise.all(below.map((_, depth) => rulesAt(depth))); // outermost first
  const isFolder = (depth: number) => depth < below.length || start?.type === 'directory';
  for (let depth = 1; depth <= below.length; depth += 1)
    if (isIgnored(above.slice(0, depth), below.slice(0, depth), isFolder(depth))) return []; // as git does: nothing below an ignored folder is listed
  if (start?.type === 'file') return [below.join('/')];
  if (start?.type === 'directory') await walk(below, above);
  return found;
}

interface FolderRules {
  readonly depth: number;
  /** null: the folder has no rules. */
  readonly rules: IgnoreRules | null;
}

const MOST_RULES = 256 * 1024;

async function rulesIn(jail: Jail, names: readonly string[], unread: string[]): Promise<IgnoreRules | null> {
  const file = [...names, '.gitignore'];
  const read = jail.read(file, async (handle, size) => (size > MOST_RULES ? null : ignoreRules(await handle.readFile())));
  return readable(read, file, unread);
}

/** null for what is not there, and for what may not be read, which is noted. */
async function readable<T>(reading: Promise<T>, names: readonly string[], unread: string[]): Promise<T | null> {
  return reading.catch((error: unknown) => {
    const code = codeOf(error);
    if (isPassing(error) || !['file_unavailable', 'file_failed'].includes(code)) throw error;
    if (code === 'file_failed') unread.push(names.join('/') || '.');
    return null;
  });
}

/** The nearest folder with a matching rule decides. */
function isIgnored(above: readonly FolderRules[], path: readonly string[], isFolder: boolean): boolean {
  for (const { depth, rules } of above.toReversed()) {
    const verdict = rules?.verdictOn(path.slice(depth), isFolder) ?? null;
    if (verdict !== null) return verdict;
  }
  return false;
}
