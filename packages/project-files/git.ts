import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findProgram } from '@pith/held-process';

const MOST_MS = 10_000;
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * Settings of a repository may name programs that git starts, and places from which it fetches missing objects; a folder of the project
 * may look like a repository with such settings. All of this is switched off.
 */
const SETTINGS = [
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'core.quotePath=false',
  'protocol.allow=never',
  'safe.bareRepository=explicit',
];
const OPTIONS = [...SETTINGS.flatMap((setting) => ['-c', setting]), '--no-pager'];
const ENVIRONMENT = { LC_ALL: 'C', GIT_OPTIONAL_LOCKS: '0', GIT_NO_LAZY_FETCH: '1' };

/** Runs git in a folder and resolves with what it printed; null: there is no git, or the folder is in no repository that it accepts. Settings of the person are not read. */
export async function runGit(folder: string, args: readonly string[], signal: AbortSignal): Promise<string | null> {
  return runIn(folder, args, ENVIRONMENT, signal);
}

/** As `runGit`, with the settings that git finds in `home`. */
export async function runGitAs(home: string, folder: string, args: readonly string[], signal: AbortSignal): Promise<string | null> {
  return runIn(folder, args, { ...ENVIRONMENT, HOME: home }, signal);
}

async function runIn(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string | null> {
  const program = findProgram('git');
  if (program === null) return null;
  const options = { cwd: folder, signal, timeout: MOST_MS, maxBuffer: MOST_BYTES, env };
  try {
    return (await promisify(execFile)(program, [...OPTIONS, ...args], options)).stdout;
  } catch (error) {
    signal.throwIfAborted();
    return (error as { readonly code?: unknown }).code === 1 ? '' : null; // 1: nothing matches; else no repository, or another owner's
  }
}
