import { existsSync, lstatSync } from 'node:fs';
import path from 'node:path';
import { findProgram, runProgram } from '@pith/supervised-process';

const MOST_MS = 10_000;
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * Switches off settings of a repository that name programs for git to start or places from which it fetches missing objects. Any folder of
 * the project may look like a repository with such settings.
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

/**
 * The output of git in a folder. null: git is missing, the folder is in no repository that git accepts, or git printed too much or took too
 * long. Ignores the person's settings.
 */
export function runGit(folder: string, args: readonly string[], signal: AbortSignal): Promise<string | null> {
  return runGitAs(null, folder, args, signal);
}

/** As `runGit`, with the settings that git finds in `home`. */
export async function runGitAs(home: string | null, folder: string, args: readonly string[], signal: AbortSignal): Promise<string | null> {
  const env = home === null ? ENVIRONMENT : { ...ENVIRONMENT, HOME: home };
  const program = findProgram('git');
  if (program === null) return null;
  const tree = workTreeOf(folder);
  try {
    const argv = [program, ...OPTIONS, ...args];
    const given = tree === null ? env : { ...env, GIT_WORK_TREE: tree };
    const { code, output } = await runProgram({ argv, cwd: folder, env: given, mostBytes: MOST_BYTES, mostMs: MOST_MS }, signal);
    if (code === 0) return output.toString();
    return code === 1 ? '' : null; // 1: nothing matches; else no repository, or another owner's
  } catch {
    signal.throwIfAborted();
    return null; // git did not start
  }
}

/** The work tree by the place of the repository. Its `core.worktree` is ignored, since it may name any folder of the machine. */
function workTreeOf(folder: string): string | null {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    const git = lstatSync(path.join(at, '.git'), { throwIfNoEntry: false });
    if (git !== undefined && (git.isFile() || existsSync(path.join(at, '.git', 'HEAD')))) return at;
    if (path.dirname(at) === at) return null;
  }
}
