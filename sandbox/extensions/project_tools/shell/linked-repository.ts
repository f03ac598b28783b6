import path from 'node:path';
import { existsSync, lstatSync } from 'node:fs';
import type { CoveredPath } from '@pith/supervised-process';
import { entriesOf, isBelow, isInside, isThere, Jail, realPathOf, secretPlaces } from '@pith/safe-files';
import { kindOf, namedBy } from './git-guard.ts';
import { plainText, textOf } from './git-settings.ts';
import { secretsOf } from './secret-files.ts';

/** A project that may be a linked working tree. */
interface Tree {
  readonly root: string;
  readonly home: string | null;
}

/** A repository that commands read. */
export interface LinkedRepository {
  readonly folder: string;
  /**
   * Files there that git does not read, and files with secrets: a command may have made a folder with such files look like a repository.
   */
  readonly covered: readonly CoveredPath[];
}

/**
 * The repository outside the project whose linked working tree the project is. Anybody may write a `.git` that names any folder, so the
 * repository itself must name this tree, as git writes it. null: there is none. Throws as `secretsOf`.
 */
export async function linkedRepository(tree: Tree, mostChecked: number, signal: AbortSignal): Promise<LinkedRepository | null> {
  const own = ownFolder(tree);
  if (own === null) return null;
  const folder = path.dirname(path.dirname(own));
  const read = [...FOLDERS, `worktrees/${path.basename(own)}`];
  const placesOf = (names: readonly string[]) => names.map((name) => path.join(folder, name)).filter(isRealFolder);
  const others = [folder, ...placesOf(PARTLY_READ)].flatMap((parent) =>
    entriesOf(parent).flatMap((entry) => {
      const at = path.join(parent, entry.name);
      const names = entry.isFile() ? FILES : entry.isDirectory() ? [...read, ...PARTLY_READ] : [];
      return names.includes(path.relative(folder, at)) ? [] : [at];
    }),
  );
  const secrets = await Promise.all(placesOf(read).map((root) => secretsIn(root, mostChecked, signal)));
  const hidden = [...others, ...secrets.flat().filter((at) => !isRef(at, folder))];
  return { folder, covered: hidden.map((at) => ({ at, as: 'empty' })) };
}

/** What git reads in a repository for a linked working tree: these files, these folders with their content, and the tree's own folder. */
const FILES = 'HEAD commondir config config.worktree packed-refs shallow info/attributes info/exclude info/grafts'.split(' ');
const FOLDERS = ['objects', 'refs', 'reftable', 'logs/refs'];
const PARTLY_READ = ['info', 'logs', 'worktrees'];

/** The folder of this working tree in the repository. */
function ownFolder({ root, home }: Tree): string | null {
  const dotGit = path.join(root, '.git');
  if (kindOf(dotGit, lstatSync) !== 'file') return null;
  const own = namedBy(dotGit);
  if (own === null || isInside(own, root)) return null;
  const repository = path.dirname(path.dirname(own));
  const isOwn = path.basename(path.dirname(own)) === 'worktrees' && path.resolve(own, textOf(path.join(own, 'commondir'))) === repository;
  const isNamed = realPathOf(path.resolve(own, textOf(path.join(own, 'gitdir')))) === realPathOf(dotGit);
  const kinds = ['HEAD', 'objects', 'refs'].map((name) => kindOf(path.join(repository, name), lstatSync));
  const isProject = ['.git', 'sandbox'].some((name) => isThere(path.join(repository, name)));
  if (!isOwn || !isNamed || isProject || kinds.join() !== 'file,folder,folder') return null;
  const kept = home === null ? [] : secretPlaces(home).filter(existsSync).map(realPathOf);
  const holds = [root, ...(home === null ? [] : [realPathOf(home)]), ...kept].some((place) => isInside(place, repository));
  return holds || kept.some((place) => isInside(repository, place)) ? null : own;
}

async function secretsIn(root: string, mostChecked: number, signal: AbortSignal): Promise<readonly string[]> {
  const { files, repositories, unlisted, unchecked } = await secretsOf({ root, jail: new Jail(root) }, mostChecked, signal);
  return [...files, ...repositories, ...unlisted, ...unchecked].filter((at) => isBelow(at, root) && isThere(at));
}

function isRealFolder(place: string): boolean {
  return kindOf(place) === 'folder' && realPathOf(place) === place;
}

/** A branch may be called `credentials`. */
function isRef(at: string, repository: string): boolean {
  return isBelow(at, path.join(repository, 'refs')) && /^(?:[\da-f]{40}|[\da-f]{64}|ref: refs\/\S+)\n$/u.test(plainText(at));
}
