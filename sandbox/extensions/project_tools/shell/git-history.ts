import { createHash } from 'node:crypto';
import { runGit } from '@pith/project-files';
import { isSecretFile } from '@pith/safe-files';

const MOST_REMEMBERED = 100;

/** Commits that have a name beside refs and their logs. */
const HEADS = ['FETCH_HEAD', 'ORIG_HEAD', 'MERGE_HEAD', 'CHERRY_PICK_HEAD', 'REVERT_HEAD', 'REBASE_HEAD', 'BISECT_HEAD', 'AUTO_MERGE'];
const TIPS = ['--all', '--reflog', '--ignore-missing', ...HEADS];

/**
 * Whether git keeps a file that may contain secrets, now or in any commit that has a name: commands do not see the file, but its content in
 * git. Looking through a history is remembered for as long as its refs, their logs and stashes are the same.
 */
export class GitHistory {
  readonly #known = new Map<string, boolean>();

  /** Of the repository that a command in this folder would use. Where git cannot say it in time, it may. */
  async mayPrintSecrets(folder: string): Promise<boolean> {
    const index = await git(folder, ['ls-files', '-z', '--cached', '--full-name', ':/']);
    if (index === null || index.split('\0').some(isSecret)) return true;
    const tips = await git(folder, ['rev-list', '--no-walk=unsorted', ...TIPS]);
    if (tips === null) return true;
    const state = createHash('sha256').update(`${folder}\0${tips}`).digest('base64url');
    const known = this.#known.get(state) ?? (await isInHistory(folder));
    this.#known.set(state, known);
    for (const oldest of [...this.#known.keys()].slice(0, -MOST_REMEMBERED)) this.#known.delete(oldest);
    return known;
  }
}

/** Each content is listed once, by one of its names: what has a harmless name too is read under that one. */
async function isInHistory(folder: string): Promise<boolean> {
  const listed = await git(folder, ['rev-list', '--objects', ...TIPS]);
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
