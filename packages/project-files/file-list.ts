import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { type IgnoreRules, ignoreRules } from '@pith/patterns';
import type { Jail } from '@pith/safe-files';
import { runGit } from './git.ts';

export interface FileList {
  /** Names from the folder down, joined by `/`; sorted. */
  readonly paths: readonly string[];
  /** There are more than were asked for. */
  readonly isCut: boolean;
}

interface Wanted {
  /** Names that lead to the file or folder to begin at; default: the folder itself. */
  readonly below?: readonly string[];
  readonly most: number;
  /** False where the person does not trust the folder: git is not started there. Default true. */
  readonly useGit?: boolean;
}

/** What git lists, tracked or new; without git, a walk that reads the `.gitignore` files. */
export async function listFiles(jail: Jail, { below = [], most, useGit = true }: Wanted, signal: AbortSignal): Promise<FileList> {
  const found = (useGit ? await listedByGit(jail, below, signal) : null) ?? (await walked(jail, { below, most }, signal));
  return { paths: [...found].sort().slice(0, most), isCut: found.length > most };
}

async function listedByGit(jail: Jail, below: readonly string[], signal: AbortSignal): Promise<readonly string[] | null> {
  const place = below.length === 0 ? '.' : `:(literal)${below.join('/')}`;
  const printed = await runGit(jail.root, ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', place], signal);
  return printed === null ? null : [...new Set(printed.split('\0').filter(isInside))];
}

/** An index can be made to hold any name. */
function isInside(file: string): boolean {
  return file !== '' && !file.startsWith('/') && !file.split('/').includes('..');
}

const MOST_IN_FOLDER = 100_000;
const NEVER: ReadonlySet<string> = new Set(['.git', 'node_modules', '.hg', '.svn', '.venv', '__pycache__']);

async function walked(
  jail: Jail,
  { below, most }: { readonly below: readonly string[]; readonly most: number },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found: string[] = [];
  const walk = async (names: readonly string[], above: readonly Rule[]): Promise<void> => {
    signal.throwIfAborted();
    if (found.length > most) return;
    const own = await rulesIn(jail, names);
    const rules = own === null ? above : [...above, { depth: names.length, own }];
    const { entries } = await jail.list(names, MOST_IN_FOLDER).catch(() => ({ entries: [] })); // it may not be read
    for (const [at, { name, type }] of entries.entries()) {
      if (at % 1000 === 999) await yieldToOthers(undefined, { signal });
      const path = [...names, name];
      if (NEVER.has(name) || isIgnored(rules, path, type === 'directory')) continue;
      if (type === 'file') found.push(path.join('/'));
      if (type === 'directory') await walk(path, rules);
    }
  };
  const start = await jail.stat(below);
  if (start?.type === 'file') return [below.join('/')];
  if (start?.type !== 'directory') return [];
  const rules = await rulesAbove(jail, below);
  const isHidden = below.some((_, at) =>
    isIgnored(
      rules.filter(({ depth }) => depth <= at),
      below.slice(0, at + 1),
      true,
    ),
  );
  if (!isHidden) await walk(below, rules);
  return found;
}

interface Rule {
  readonly depth: number;
  readonly own: IgnoreRules;
}

async function rulesAbove(jail: Jail, names: readonly string[]): Promise<readonly Rule[]> {
  const rules: Rule[] = [];
  for (let depth = 0; depth < names.length; depth += 1) {
    const own = await rulesIn(jail, names.slice(0, depth));
    if (own !== null) rules.push({ depth, own });
  }
  return rules;
}

const MOST_RULES = 256 * 1024;

async function rulesIn(jail: Jail, names: readonly string[]): Promise<IgnoreRules | null> {
  const file = [...names, '.gitignore'];
  if ((await jail.stat(file))?.type !== 'file') return null;
  return jail.read(file, async (handle, size) => (size > MOST_RULES ? null : ignoreRules((await handle.readFile()).toString())));
}

function isIgnored(rules: readonly Rule[], path: readonly string[], isFolder: boolean): boolean {
  for (const { depth, own } of rules.toReversed()) {
    const said = own(path.slice(depth), isFolder);
    if (said !== null) return said === 'ignored';
  }
  return false;
}
