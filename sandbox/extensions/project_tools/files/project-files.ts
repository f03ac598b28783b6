import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import ignore, { type Ignore } from 'ignore';
import { isSecretFile } from '@pith/safe-files';
import { findProgram } from '@pith/held-process';
import type { Project } from './project.ts';

/** Files of the project that tools may look through. */
export interface ProjectFiles {
  /** Names from the project down, joined by `/`; sorted. */
  readonly paths: readonly string[];
  /** Files left out because they may contain secrets. */
  readonly secret: number;
  /** There are more files than are looked at. */
  readonly isCut: boolean;
}

const MOST_FILES = 50_000;
const GIT_MS = 10_000;
const GIT_BYTES = 64 * 1024 * 1024;

/** What git would list, tracked or new, without what it ignores; without git, a walk that reads `.gitignore` files itself. */
export async function filesOf(project: Project, below: readonly string[], signal: AbortSignal): Promise<ProjectFiles> {
  const found = (await gitFiles(project, below, signal)) ?? (await walkedFiles(project, below, signal));
  const visible = found.filter((file) => project.isVisible(file.split('/')));
  const open = visible.filter((file) => !isSecretFile(file.split('/')));
  return {
    paths: open.slice(0, MOST_FILES).sort(),
    secret: visible.length - open.length,
    isCut: open.length > MOST_FILES || found.length > MOST_FILES,
  };
}

/** Settings of a repository may name programs that git starts, and places that it fetches missing objects from: these are switched off. */
const HARMLESS = [
  ...[
    'core.fsmonitor=false',
    'core.hooksPath=/dev/null',
    'core.quotePath=false',
    'protocol.allow=never',
    'safe.bareRepository=explicit',
  ].flatMap((setting) => ['-c', setting]),
  '--no-pager',
];

/** Runs git in the project and answers what it printed; null: there is no git, or it is no repository. */
export async function git(project: Project, args: readonly string[], signal: AbortSignal): Promise<string | null> {
  const program = findProgram('git');
  if (program === null) return null;
  const options = {
    cwd: project.root,
    signal,
    timeout: GIT_MS,
    maxBuffer: GIT_BYTES,
    env: { LC_ALL: 'C', GIT_OPTIONAL_LOCKS: '0', GIT_NO_LAZY_FETCH: '1' },
  };
  try {
    return (await promisify(execFile)(program, [...HARMLESS, ...args], options)).stdout;
  } catch (error) {
    signal.throwIfAborted();
    return (error as { readonly code?: unknown }).code === 1 ? '' : null; // 1: nothing matches; else no repository, or another owner's
  }
}

async function gitFiles(project: Project, below: readonly string[], signal: AbortSignal): Promise<readonly string[] | null> {
  const place = below.length === 0 ? '.' : `:(literal)${below.join('/')}`;
  const printed = await git(project, ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', place], signal);
  return printed === null
    ? null
    : [...new Set(printed.split('\0').filter((file) => file !== '' && !file.startsWith('/') && !file.split('/').includes('..')))];
}

const NEVER: ReadonlySet<string> = new Set(['.git', 'node_modules', '.hg', '.svn', '.venv', '__pycache__']);

async function walkedFiles({ jail }: Project, below: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
  const found: string[] = [];
  const walk = async (names: readonly string[], rules: readonly Rule[]): Promise<void> => {
    signal.throwIfAborted();
    if (found.length > MOST_FILES) return;
    const own = await rulesIn(jail, names);
    const all = own === null ? rules : [...rules, { depth: names.length, matcher: own }];
    const { entries } = await jail.list(names, MOST_FILES).catch(() => ({ entries: [] })); // it may not be read
    for (const { name, type } of entries) {
      const path = [...names, name];
      if (NEVER.has(name) || isIgnored(all, path, type === 'directory')) continue;
      if (type === 'file') found.push(path.join('/'));
      if (type === 'directory') await walk(path, all);
    }
  };
  const start = await jail.stat(below);
  if (start?.type === 'file') return [below.join('/')];
  if (start?.type === 'directory') await walk(below, await rulesAbove(jail, below));
  return found;
}

interface Rule {
  readonly depth: number;
  readonly matcher: Ignore;
}

async function rulesAbove(jail: Project['jail'], names: readonly string[]): Promise<readonly Rule[]> {
  const rules: Rule[] = [];
  for (let depth = 0; depth < names.length; depth += 1) {
    const matcher = await rulesIn(jail, names.slice(0, depth));
    if (matcher !== null) rules.push({ depth, matcher });
  }
  return rules;
}

const MOST_RULES = 256 * 1024;

async function rulesIn(jail: Project['jail'], names: readonly string[]): Promise<Ignore | null> {
  const file = [...names, '.gitignore'];
  if ((await jail.stat(file))?.type !== 'file') return null;
  return jail.read(file, async (handle, size) => (size > MOST_RULES ? null : ignore().add((await handle.readFile()).toString())));
}

function isIgnored(rules: readonly Rule[], path: readonly string[], isFolder: boolean): boolean {
  let ignored = false;
  for (const { depth, matcher } of rules) {
    const result = matcher.test(`${path.slice(depth).join('/')}${isFolder ? '/' : ''}`);
    if (result.ignored || result.unignored) ignored = result.ignored;
  }
  return ignored;
}
