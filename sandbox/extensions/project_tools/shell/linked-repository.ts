import path from 'node:path';
import { existsSync, lstatSync } from 'node:fs';
import { isInside, realPathOf, secretPlaces } from '@pith/safe-files';
import { namedBy } from './git-guard.ts';
import { plainText } from './git-settings.ts';

/** A project that may be a linked working tree. */
interface Tree {
  readonly root: string;
  readonly home: string | null;
}

/**
 * The repository outside of the project whose linked working tree the project is: commands read it. Anybody may write a `.git` that names
 * any folder; so the repository itself must name this tree as its own, as git writes it. null: there is none.
 */
export function linkedRepository({ root, home }: Tree): string | null {
  const dotGit = path.join(root, '.git');
  if (lstatSync(dotGit, { throwIfNoEntry: false })?.isFile() !== true) return null;
  const own = namedBy(dotGit);
  if (own === null || isInside(own, root)) return null;
  const repository = path.dirname(path.dirname(own));
  const isOwn = path.basename(path.dirname(own)) === 'worktrees' && path.resolve(own, textOf(own, 'commondir')) === repository;
  const isNamed = realPathOf(path.resolve(own, textOf(own, 'gitdir'))) === realPathOf(dotGit);
  const isRepository = ['HEAD', 'objects', 'refs'].every((name) => existsSync(path.join(repository, name)));
  if (!isOwn || !isNamed || !isRepository) return null;
  const kept = home === null ? [] : secretPlaces(home).filter(existsSync).map(realPathOf);
  const holds = [root, ...(home === null ? [] : [realPathOf(home)]), ...kept].some((place) => isInside(place, repository));
  return holds || kept.some((place) => isInside(repository, place)) ? null : repository;
}

function textOf(folder: string, name: string): string {
  return Buffer.from(plainText(path.join(folder, name)), 'latin1')
    .toString()
    .trim();
}
