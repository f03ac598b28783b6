import { createHash } from 'node:crypto';
import { runGit } from '@pith/project-files';
import { isSecretFile } from '@pith/safe-files';

const MOST_REMEMBERED = 100;
const LONGEST_MS = 2000;

/** Commits with a name outside of refs and their logs. */
const HEADS = ['FETCH_HEAD', 'ORIG_HEAD', 'MERGE_HEAD', 'CHERRY_PICK_HEAD', 'REVERT_HEAD', 'REBASE_HEAD', 'BISECT_HEAD', 'AUTO_MERGE'];
const TIPS = ['--all', '--reflog', '--ignore-missing', ...HEADS];

/**
 * Whether git stores a file that may contain secrets, now or in any named commit: commands do not see the file, but could see its content
 * in git. The result is cached while refs, their logs and stashes are unchanged.
 */
export class GitHistory {
  readonly #known = new Map<string, boolean>();
  /** Folders whose history took too long: it is not tried again. */
  readonly #long = new Set<string>();

  /** For the repository that a command in this folder would use. True where git cannot tell in time. */
  async mayPrintSecrets(folder: string): Promise<boolean> {
    if (this.#long.has(folder)) return true;
    const index = await git(folder, ['ls-files', '-z', '--cached', '--full-name', ':/']);
    if (index === null || index.split('\0').some(isSecret)) return true;
    const tips = await git(folder, ['rev-list', '--no-walk=unsorted', ...TIPS]);
    if (tips === null) return true;
    const state = createHash('sha256').update(`${folder}\0${tips}`).digest('base64url');
    const found = this.#known.get(state) ?? (await isInHistory(folder));
    if (found === null) this.#long.add(folder);
    else this.#known.set(state, found);
    for (const oldest of [...this.#known.keys()].slice(0, -MOST_REMEMBERED)) this.#known.delete(oldest);
    return found ?? true;
  }
}

/** git lists each content once, under one of its names: content with a harmless name too appears under that. null: it took too long. */
async function isInHistory(folder: string): Promise<boolean | null> {
  // A person waits for it, and is asked where it takes longer.
  const listed = await runGit(
    folder,
    ['rev-list', '--objects', '--filter=object:type=blob', ...TIPS],
    AbortSignal.timeout(LONGEST_MS),
  ).catch(() => null);
  if (listed === null) return null;
  return listed.split('\n').some((line) => isSecret(line.split(/ ([^]*)/u)[1] ?? ''));
}

function git(folder: string, args: readonly string[]): Promise<string | null> {
  return runGit(folder, args, new AbortController().signal);
}

function isSecret(name: string): boolean {
  return name !== '' && isSecretFile(name.split('/'));
}
