import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findProgram } from '@pith/held-process';
import { isSecretFile, Jail } from '@pith/safe-files';

const MOST_FILES = 20_000;
const GIT_MS = 5_000;
const GIT_BYTES = 16 * 1024 * 1024;
/** How long a list is used. */
const FRESH_MS = 5_000;
/** Settings of a repository may name programs that git starts: these are switched off. */
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
const NEVER: ReadonlySet<string> = new Set(['.git', 'node_modules', '.hg', '.svn', '.venv', '__pycache__']);

/** Files at and below a folder that a person may mean: what git lists, else what a walk finds. Never one that may contain secrets. */
export class ProjectPaths {
  #list: { readonly at: number; readonly paths: Promise<readonly string[]> } | null = null;

  constructor(
    private readonly folder: string,
    private readonly clock: { now(): number },
  ) {}

  /** Names from the folder down, joined by `/`; sorted. */
  list(signal: AbortSignal): Promise<readonly string[]> {
    const now = this.clock.now();
    if (this.#list === null || now - this.#list.at > FRESH_MS) this.#list = { at: now, paths: this.#read(signal) };
    return this.#list.paths;
  }

  async #read(signal: AbortSignal): Promise<readonly string[]> {
    const found = (await gitFiles(this.folder, signal)) ?? (await walkedFiles(this.folder, signal));
    return found.filter((file) => !isSecretFile(file.split('/'))).sort();
  }
}

/** null: there is no git, or this is no repository. */
async function gitFiles(folder: string, signal: AbortSignal): Promise<readonly string[] | null> {
  const program = findProgram('git');
  if (program === null) return null;
  const options = {
    cwd: folder,
    signal,
    timeout: GIT_MS,
    maxBuffer: GIT_BYTES,
    env: { LC_ALL: 'C', GIT_OPTIONAL_LOCKS: '0', GIT_NO_LAZY_FETCH: '1' },
  };
  try {
    const args = [...HARMLESS, 'ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', '.'];
    const { stdout } = await promisify(execFile)(program, args, options);
    return [...new Set(stdout.split('\0').filter((file) => file !== ''))].slice(0, MOST_FILES);
  } catch {
    return null; // no repository, or another owner's
  }
}

async function walkedFiles(folder: string, signal: AbortSignal): Promise<readonly string[]> {
  const jail = new Jail(folder);
  const found: string[] = [];
  const folders: string[][] = [[]];
  for (let names = folders.shift(); names !== undefined && found.length < MOST_FILES; names = folders.shift()) {
    signal.throwIfAborted();
    const { entries } = await jail.list(names, MOST_FILES);
    for (const { name, type } of entries) {
      if (NEVER.has(name) || name.startsWith('.')) continue;
      if (type === 'file') found.push([...names, name].join('/'));
      if (type === 'directory') folders.push([...names, name]);
    }
  }
  return found.slice(0, MOST_FILES);
}
