import { existsSync } from 'node:fs';
import path from 'node:path';
import { printableLine, someOf } from '@pith/plain-text';
import { runGit } from '@pith/project-files';
import { isPlaceholder } from './placeholders.ts';
import type { Project } from '../files/project.ts';
import { fileDigest, foldersNamedBy, linkDigest, LINKS, startsBy } from './autorun-digests.ts';
import { isAnswered } from './git-guard.ts';
import { isBare, walk, type FolderSearch, type Seen } from './project-walk.ts';
import { repositoryDigest, startsOf } from './repositories.ts';

/** The files of a project from which the person's programs start something automatically, at one time: a digest of the content by place. */
export interface AutorunFiles {
  /** Places are relative to the project, with `/`. A repository has the place of its settings; an unlistable folder ends in `/`. */
  readonly digests: ReadonlyMap<string, string>;
  /** Entries of an index that are repositories: git in the outer one reads them, too. */
  readonly gitlinks: ReadonlySet<string>;
  /** False: there are more folders than are searched. */
  readonly isWhole: boolean;
}

/** A new or changed autorun file. */
export interface ChangedAutorun {
  readonly place: string;
  readonly isNew: boolean;
  /** What starts from it, for people; null: nothing, as it is now. */
  readonly starts: string | null;
  /** For a repository: the folder in which git would use it. */
  readonly repository: string | null;
}

/** A project, and the folder of Pith's state. */
export interface LookedThrough extends Pick<Project, 'jail' | 'root'> {
  /** Absolute. */
  readonly state: string;
}

/** Nothing yet. */
export const NO_AUTORUN_FILES: AutorunFiles = { digests: new Map(), gitlinks: new Set(), isWhole: true };

const MOST_FOLDERS = 200_000;

/** Finds autorun files during a walk through a project, without a folder of state. Their content is read and never used. */
export class AutorunSearch implements FolderSearch {
  readonly isStrict = false;
  readonly #digests = new Map<string, string>();
  #looked = 0;

  constructor(private readonly place: LookedThrough) {}

  enters(names: readonly string[]): boolean {
    if (REPOSITORY.test(names.at(-1) ?? '') || path.join(this.place.root, ...names) === this.place.state) return false;
    this.#looked += 1;
    return this.#looked <= MOST_FOLDERS;
  }

  async see(names: readonly string[], entries: readonly Seen[], isListed: boolean): Promise<void> {
    const { root } = this.place;
    const folder = names.join('/');
    const isPackages = PACKAGES.test(folder);
    if (!isListed) this.#digests.set(`${folder === '' ? '.' : folder}/`, '');
    if (isBare(entries)) this.#digests.set(folder === '' ? '.' : folder, await repositoryDigest(path.join(root, folder)));
    for (const { name, type } of entries) {
      const place = folder === '' ? name : `${folder}/${name}`;
      if (REPOSITORY.test(name)) this.#digests.set(place, await repositoryDigest(path.join(root, place)));
      else if (type !== 'directory' && (!isPackages || ACTIVATE.test(place)) && startsBy(place) !== null) await this.#look(place);
    }
  }

  async #look(place: string): Promise<void> {
    if (isPlaceholder(this.place.root, place)) return;
    const digest = await (LINKS.test(place) ? linkDigest(this.place.root, place) : fileDigest(path.join(this.place.root, place)));
    if (digest !== null) this.#digests.set(place, digest);
  }

  /** Package managers run the manifests that others name wherever they are, also among packages. */
  async #lookAtNamed(): Promise<void> {
    const manifests = [...this.#digests.keys()].filter((place) => MANIFEST.test(place));
    for (let at = 0; at < manifests.length && at < MOST_MANIFESTS; at += 1) {
      const folders = await foldersNamedBy(this.place.root, manifests[at] ?? '');
      for (const place of folders.flatMap((folder) => ['package.json', 'binding.gyp'].map((name) => path.posix.join(folder, name)))) {
        if (this.#digests.has(place) || !existsSync(path.join(this.place.root, place))) continue;
        await this.#look(place);
        if (MANIFEST.test(place)) manifests.push(place);
      }
    }
  }

  async found(signal: AbortSignal): Promise<AutorunFiles> {
    await this.#lookAtNamed();
    const gitlinks = await gitlinksOf(this.place.root, [...this.#digests.keys()], signal);
    return { digests: this.#digests, gitlinks, isWhole: this.#looked <= MOST_FOLDERS };
  }
}

export async function autorunFilesOf(place: LookedThrough, signal: AbortSignal): Promise<AutorunFiles> {
  const search = new AutorunSearch(place);
  await walk(place, [search], signal);
  return search.found(signal);
}

/** Repositories and unlistable folders among the places, each with the repositories around it: the outer folder and the path from it. */
export function nestedRepositories(places: readonly string[]): readonly { readonly outer: string; readonly inner: string }[] {
  const repositories = places.filter((place) => path.posix.basename(place) === '.git').map((place) => path.posix.dirname(place));
  const unlisted = places.filter((place) => place.endsWith('/')).map((place) => place.slice(0, -1));
  return [...new Set([...repositories, ...unlisted])].flatMap((folder) =>
    repositories
      .filter((outer) => folder !== outer && (outer === '.' || folder.startsWith(`${outer}/`)))
      .map((outer) => ({ outer, inner: path.posix.relative(outer, folder) })),
  );
}

async function gitlinksOf(root: string, places: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const nested = grouped(nestedRepositories(places));
  for (const [outer, inner] of nested) {
    if (!isAnswered(path.join(root, outer), root)) continue;
    const asked = inner.slice(0, MOST_NESTED).map((each) => `:(literal)${each.inner}`);
    const listed = await runGit(path.join(root, outer), ['ls-files', '--stage', '-z', '--', ...asked], signal);
    for (const entry of (listed ?? '').split('\0')) {
      const [, name] = /^160000 \S+ \d\t([^]+)$/u.exec(entry) ?? [];
      if (name !== undefined) found.add(path.posix.join(outer, name));
    }
  }
  return found;
}

function grouped<Each extends { readonly outer: string }>(all: readonly Each[]): ReadonlyMap<string, readonly Each[]> {
  const groups = new Map<string, Each[]>();
  for (const each of all) groups.set(each.outer, [...(groups.get(each.outer) ?? []), each]);
  return groups;
}

/** As many paths as fit among the arguments of a program. */
const MOST_NESTED = 1000;

/** New and changed places between two looks, in order. A removed file starts nothing. */
export async function changesBetween(
  root: string,
  before: AutorunFiles,
  now: AutorunFiles,
  signal: AbortSignal,
): Promise<readonly ChangedAutorun[]> {
  const places = [...now.digests].filter(([place, digest]) => before.digests.get(place) !== digest).map(([place]) => place);
  return Promise.all(
    places.sort().map(async (place): Promise<ChangedAutorun> => {
      const isNew = !before.digests.has(place);
      if (startsBy(place) !== null) return { place, isNew, starts: startsBy(place), repository: null };
      const isNested = REPOSITORY.test(path.posix.basename(place));
      return {
        place,
        isNew,
        starts: await startsOf(path.join(root, place), signal),
        repository: isNested ? path.posix.dirname(place) : place,
      };
    }),
  );
}

/** The lines that report changes: one for each repository, and one for all files of a kind. */
export function linesOf(changes: readonly ChangedAutorun[]): readonly string[] {
  const files = new Map<string, string[]>();
  const lines: string[] = [];
  for (const { place, isNew, starts, repository } of changes) {
    const shown = printableLine(place, 200);
    if (repository === null) {
      const how = `new or changed: ${starts}`;
      files.set(how, [...(files.get(how) ?? []), shown]);
      continue;
    }
    const what = isNew ? `${shown} is a new repository` : `the repository ${shown} has other settings or hooks`;
    const program = /^\.(?:hg|jj)$/u.exec(path.posix.basename(place))?.[0].slice(1) ?? 'git';
    lines.push(starts === null ? what : `${what}: ${program} in ${printableLine(repository, 200)} starts ${starts}`);
  }
  return [...lines, ...[...files].map(([how, places]) => `${someOf(places, MOST_FILES)} ${places.length === 1 ? 'is' : 'are'} ${how}`)];
}

const REPOSITORY = /^\.(?:git|hg|jj)$/iu;
const PACKAGES = /(?:^|\/)(?:node_modules|\.venv|venv|site-packages|target|\.yarn\/cache)(?:\/|$)/u;
const ACTIVATE = /(?:^|\/)\.?venv\/bin\/activate[^/]*$/iu;
const MANIFEST = /(?:^|\/)package\.json$/iu;
const MOST_MANIFESTS = 1000;
/** The most files of a kind in a line. */
const MOST_FILES = 50;
