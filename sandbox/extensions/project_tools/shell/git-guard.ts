import path from 'node:path';
import { existsSync, lstatSync, mkdirSync, realpathSync, statSync, writeFileSync, type Stats } from 'node:fs';
import { runGitAs } from '@pith/project-files';
import { isBelow, isInside, realPathOf } from '@pith/safe-files';
import { isHarmless, listedSettings, textOf, type GitSetting } from './git-settings.ts';

/** A project with the repositories in it. */
export interface GuardedProject {
  readonly root: string;
  readonly home: string | null;
  /** Each `.git`, absolute and with links resolved: a folder, or a file that names one; and the `.hg` and `.jj` of other programs. */
  readonly dotGits: readonly string[];
}

/**
 * The places that no command may change: what git and similar programs read as settings, or start, in existing repositories. Missing ones
 * are created empty, because a command could create them. They stay afterwards, so nothing depends on how a command ends.
 */
export async function guardedPlaces({ root, home, dotGits }: GuardedProject, signal: AbortSignal): Promise<readonly string[]> {
  const held = new Set<string>();
  const folders = new Set([root]);
  for (const dotGit of byDepth(dotGits)) {
    const isMany = held.size > MOST_PLACES;
    const isNew = (folder: string): boolean => !held.has(path.join(folder, 'config'));
    const whole = (): readonly string[] => [dotGit, ...foldersNamedBy(dotGit, root).filter(isNew)].flatMap((each) => wholeOf(each, root));
    for (const place of isMany ? whole() : await placesIn(dotGit, root, signal)) held.add(place);
    if (!isMany) folders.add(path.dirname(dotGit));
  }
  for (const folder of [...folders].filter((each) => isAnswered(each, root))) {
    for (const place of namedIn(folder, root, await settingsOf(folder, home, signal))) held.add(place);
    for (const place of await emptySubmodules(folder, signal)) held.add(place);
  }
  return [...held];
}

/** bubblewrap checks all mounts for each new one: of hundreds of repositories, only the first get single mounts, the rest one each. */
const MOST_PLACES = 400;

/** Files in a `.git`, with the content that acts like their absence. */
const FILES: ReadonlyMap<string, string> = new Map([
  ['config', ''],
  ['config.worktree', ''],
  ['commondir', '.\n'], // this very repository's own folder: an empty file is an error
  ['info/attributes', ''],
]);
const FOLDERS = ['hooks', 'modules', 'worktrees', 'remotes', 'branches'];

/** The same for other programs, nearly all of whose settings can start one; `made` are created empty. */
const OF_OTHERS: ReadonlyMap<string, { readonly made: readonly string[]; readonly held: readonly string[] }> = new Map([
  ['.hg', { made: ['hgrc', 'hgrc-not-shared'], held: ['requires', 'sharedpath'] }],
  ['.jj', { made: [], held: ['repo/config.toml', 'repo/store/git_target', 'repo/store/git/config', 'workspace-config.toml'] }],
]);

/** The guarded places of a repository, or all of it where its parts cannot be guarded. */
async function placesIn(dotGit: string, root: string, signal: AbortSignal): Promise<readonly string[]> {
  const isGit = !OF_OTHERS.has(path.basename(dotGit));
  if (isGit && !isFolder(dotGit)) {
    const named = await Promise.all(foldersNamedBy(dotGit, root).map((folder) => placesIn(folder, root, signal)));
    return [dotGit, ...named.flat()];
  }
  const places = namedPlaces(dotGit);
  if (!isFolder(dotGit) || places.some(isLink)) return wholeOf(dotGit, root);
  if (!isGit) {
    for (const name of OF_OTHERS.get(path.basename(dotGit))?.made ?? []) tryTo(() => makeFile(path.join(dotGit, name), ''));
    return places;
  }
  // `commondir` would make git ignore these two.
  const own = await listedSettings(path.join(dotGit, 'config'), signal);
  if (own.some(({ key, value }) => key === 'core.worktree' || (key === 'core.bare' && value !== 'false'))) return [dotGit];
  try {
    for (const [name, text] of FILES) makeFile(path.join(dotGit, name), text);
    for (const name of FOLDERS) mkdirSync(path.join(dotGit, name), { recursive: true });
  } catch {
    return [dotGit]; // a full or read-only disk: then a command may not use the repository either
  }
  return namedPlaces(dotGit);
}

/**
 * Git folders in the project that a `.git` file names: that of its tree, and the repository that trees share, which may be bare and so has
 * no other name here. Anybody may write such a file, about any folder.
 */
function foldersNamedBy(dotGit: string, root: string): readonly string[] {
  const own = namedBy(dotGit);
  if (own === null) return [];
  const shared = realPathOf(path.resolve(own, textOf(path.join(own, 'commondir'))));
  const folders = own === shared ? [own] : [own, shared];
  return folders.filter((folder) => isBelow(folder, root) && isFolder(folder) && kindOf(path.join(folder, 'HEAD')) === 'file');
}

/** The places in a repository that decide what is started. */
function namedPlaces(folder: string): readonly string[] {
  const { made, held } = OF_OTHERS.get(path.basename(folder)) ?? { made: [...FILES.keys()], held: FOLDERS };
  return [...made, ...held].map((name) => heldAt(folder, name));
}

/** All of a repository. A link in it cannot be replaced then, but what it leads to can be written. */
function wholeOf(folder: string, root: string): readonly string[] {
  const targets = namedPlaces(folder).filter(isLink).map(realPathOf);
  return [folder, ...targets.filter((place) => isInside(place, root))];
}

/** The place itself, or a link or file in place of a folder on its path. */
function heldAt(folder: string, name: string): string {
  let place = folder;
  for (const each of name.split('/')) {
    place = path.join(place, each);
    if (!isFolder(place)) break;
  }
  return place;
}

function makeFile(file: string, text: string): void {
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) return;
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text, { flag: 'wx' });
}

/** The folder that a `.git` file names; null: it names none. */
export function namedBy(dotGit: string): string | null {
  try {
    const named = /^gitdir: *(.+?)\s*$/u.exec(textOf(dotGit))?.[1];
    return named === undefined ? null : realpathSync.native(path.resolve(path.dirname(dotGit), named));
  } catch {
    return null; // it is gone, or leads nowhere
  }
}

/** False where a file that git reads first, in the folder or above it, is not a regular one, such as a pipe, for which git would wait. */
export function isAnswered(folder: string, root: string): boolean {
  const dotGit = path.join(folder, '.git');
  const gitFolder = isFolder(dotGit) ? dotGit : (namedBy(dotGit) ?? dotGit);
  const read = ['HEAD', 'commondir', 'config', 'config.worktree', 'index'].map((name) => path.join(gitFolder, name));
  const places = [path.join(folder, 'HEAD'), path.join(folder, 'commondir'), dotGit, ...read];
  return places.every((place) => kindOf(place) !== 'special') && (folder === root || isAnswered(path.dirname(folder), root));
}

/**
 * All settings that apply in a folder: its repository's, and the person's own, which may name a folder of hooks or a program by a path that
 * begins in the project.
 */
async function settingsOf(folder: string, home: string | null, signal: AbortSignal): Promise<readonly GitSetting[]> {
  const asked = ['config', '--includes', '--list', '--show-origin', '-z'];
  const parts = ((await runGitAs(home ?? '/nonexistent', folder, asked, signal)) ?? '').split('\0');
  const settings: GitSetting[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [origin = '', entry = ''] = [parts[at], parts[at + 1]];
    const [key = '', value = ''] = entry.split(/\n([^]*)/u);
    if (origin.startsWith('file:')) settings.push({ key, value, file: path.resolve(folder, origin.slice('file:'.length)) });
  }
  return settings;
}

/** Files of the project that contain a folder's settings, that they include, or that they name as a program, and folders of hooks. */
function namedIn(folder: string, root: string, settings: readonly GitSetting[]): readonly string[] {
  const found = new Set<string>();
  const add = (place: string): void => void (isInside(place, root) && place !== root && existsSync(place) && found.add(realPathOf(place)));
  const make = (place: string, text: string | null): void => {
    if (isInside(place, root)) tryTo(() => (text === null ? mkdirSync(place, { recursive: true }) : makeFile(place, text)));
    add(place);
  };
  for (const { key, value, file } of settings) {
    add(file);
    if (value.startsWith('~')) continue;
    const named = path.resolve(folder, value);
    if (/^include(?:if\..*)?\.path$/u.test(key)) make(path.resolve(path.dirname(file), value), '');
    // The hooks of husky are beside the folder that it names.
    else if (key === 'core.hookspath') make(path.basename(named) === '_' ? path.dirname(named) : named, null);
    else if (!isHarmless(key, value))
      for (const word of value.split(/[\s"']+/u))
        if (/[/.]/u.test(word) && kindOf(path.resolve(folder, word)) === 'file') add(path.resolve(folder, word));
  }
  return [...found].filter((place) => isInside(place, root));
}

/** Folders of submodules that are not fetched: git reads whatever repository is in them. */
async function emptySubmodules(folder: string, signal: AbortSignal): Promise<readonly string[]> {
  const named = await listedSettings(path.join(folder, '.gitmodules'), signal);
  const folders = named.filter(({ key }) => /^submodule\..*\.path$/u.test(key)).map(({ value }) => path.resolve(folder, value));
  return folders.filter((each) => isBelow(each, folder) && isFolder(each) && !existsSync(path.join(each, '.git')));
}

function tryTo(make: () => unknown): void {
  try {
    make();
  } catch {
    // something else is there, or it may not be written
  }
}

type Kind = 'file' | 'folder' | 'link' | 'special';

/** The kind of a link's target. null: nothing is there. */
export function kindOf(place: string, look: (place: string) => Stats = statSync): Kind | null {
  try {
    const stats = look(place);
    return stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : stats.isSymbolicLink() ? 'link' : 'special';
  } catch {
    return null; // it is gone, a file is where a folder above it should be, or the links form a loop
  }
}

function isLink(place: string): boolean {
  return kindOf(place, lstatSync) === 'link';
}

function isFolder(place: string): boolean {
  return kindOf(place, lstatSync) === 'folder';
}

function byDepth(places: readonly string[]): readonly string[] {
  return places.toSorted((a, b) => a.split(path.sep).length - b.split(path.sep).length || (a < b ? -1 : 1));
}
