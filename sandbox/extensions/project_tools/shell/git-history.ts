import { createHash } from 'node:crypto';
import { runGit } from '@pith/project-files';
import { isSecretFile } from '@pith/safe-files';

const MOST_REMEMBERED = 100;
const LONGEST_MS = 2000;

/** Commits that have a name beside refs and their logs. */
const HEADS = ['FETCH_HEAD', 'ORIG_HEAD', 'MERGE_HEAD', 'CHERRY_PICK_HEAD', 'REVERT_HEAD', 'REBASE_HEAD', 'BISECT_HEAD', 'AUTO_MERGE'];
const TIPS = ['--all', '--reflog', '--ignore-missing', ...HEADS];

/**
 * Whether git keeps a file that may contain secrets, now or in any commit that has a name: commands do not see the file, but its content in
 * git. Looking through a history is remembered for as long as its refs, their logs and stashes are the same.
 */
export class GitHistory {
  /** Folders whose history has such a file, or is too long to be looked through: it stays so. */
  readonly #secret = new Set<string>();
  /** What refs said where it has none. */
  readonly #clean = new Set<string>();

  /** Of the repository that a command in this folder would use. Where git cannot say it in time, it may. */
  async mayPrintSecrets(folder: string): Promise<boolean> {
    if (this.#secret.has(folder)) return true;
    const index = await git(folder, ['ls-files', '-z', '--cached', '--full-name', ':/']);
    if (index === null || index.split('\0').some(isSecret)) return true;
    const tips = await git(folder, ['rev-list', '--no-walk=unsorted', ...TIPS]);
    if (tips === null) return true;
    const state = createHash('sha256').update(`${folder}\0${tips}`).digest('base64url');
    if (this.#clean.has(state)) return false;
    const found = await isInHistory(folder);
    if (found) this.#secret.add(folder);
    else this.#clean.add(state);
    for (const oldest of [...this.#clean].slice(0, -MOST_REMEMBERED)) this.#clean.delete(oldest);
    return found;
  }
}

/** Each content is listed once, by one of its names: what has a harmless name too is read under that one. */
async function isInHistory(folder: string): Promise<boolean> {
  // A person waits for it, and is asked where it takes longer.
  const listed = await runGit(folder, ['rev-list', '--objects', ...TIPS], AbortSignal.timeout(LONGEST_MS)).catch(() => null);
  if (listed === null) return true;
  const names = listed.split('\n').map((line) => line.split(/ ([^]*)/u)[1] ?? '');
  const folders = new Set(names.map((name) => name.slice(0, Math.max(0, name.lastIndexOf('/')))));
  return names.some((name) => isSecret(name) && !folders.has(name));
}

function git(folder: string, args: readonly string[]): Promise<string | null> {
  return runGit(folder, args, new AbortController().signal);
}

function isSecret(name: string): boolean {
  return name !== '' && isSecretFile(name.split('/'));
}
