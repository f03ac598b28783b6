import path from 'node:path';
import { existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { runGitAs } from '@pith/project-files';
import { isInside } from '@pith/safe-files';
import { isHarmless, listedSettings, type GitSetting } from './git-settings.ts';

/** A project with the repositories in it. */
export interface GuardedProject {
  readonly root: string;
  readonly home: string | null;
  /** Each `.git`, absolute and without links: a folder, or a file that names one. */
  readonly dotGits: readonly string[];
}

/**
 * What git reads as settings, or starts, in repositories that are there: places that no command may change. What is absent is made,
 * empty, because a command could make it. Nothing is taken away afterwards, so nothing depends on how a command ends.
 */
export async function guardedPlaces({ root, home, dotGits }: GuardedProject, signal: AbortSignal): Promise<readonly string[]> {
  const held = new Set<string>();
  for (const dotGit of byDepth(dotGits)) {
    const folders = held.size > MOST_PLACES ? [] : await repositoryOf(dotGit, root, signal);
    for (const place of folders.length === 0 ? [dotGit] : folders) held.add(place);
  }
  for (const place of [...programsIn(root, await settingsIn(root, home, signal)), ...(await emptySubmodules(root, signal))]) held.add(place);
  return [...held];
}

/** bubblewrap looks at all mounts again for each: a project of hundreds of repositories gets them as a whole, after the first ones. */
const MOST_PLACES = 400;

/** In a `.git`. Each of them stands for what git does where it is absent. */
const FILES: ReadonlyMap<string, string> = new Map([
  ['config', ''],
  ['config.worktree', ''],
  ['commondir', '.\n'], // the settings of this very repository: an empty one is an error
  ['info/attributes', ''],
]);
const FOLDERS = ['hooks', 'modules', 'worktrees', 'remotes', 'branches'];

/** Empty: it is held as a whole, and nothing in it can be changed. */
async function repositoryOf(dotGit: string, root: string, signal: AbortSignal): Promise<readonly string[]> {
  if (!isFolder(dotGit)) {
    const elsewhere = namedBy(dotGit);
    if (elsewhere === null || !isInside(elsewhere, root) || !isFolder(elsewhere)) return [];
    const there = await repositoryOf(elsewhere, root, signal);
    return [dotGit, ...(there.length === 0 ? [elsewhere] : there)];
  }
  const places = [...FILES.keys(), ...FOLDERS].map((name) => path.join(dotGit, name));
  const isPlain = [...places, path.join(dotGit, 'info')].every((place) => lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() !== true);
  if (!isPlain) return []; // a link can be replaced by another
  // `commondir` would make git overlook these two.
  const own = await listedSettings(path.join(dotGit, 'config'), signal);
  if (own.some(({ key, value }) => key === 'core.worktree' || (key === 'core.bare' && value !== 'false'))) return [];
  try {
    for (const [name, text] of FILES) makeFile(path.join(dotGit, name), text);
    for (const name of FOLDERS) mkdirSync(path.join(dotGit, name), { recursive: true });
  } catch {
    return []; // a full disk, or one that nobody may write: then a command cannot be let in either
  }
  return places;
}

function makeFile(file: string, text: string): void {
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) return;
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text, { flag: 'wx' });
}

/** The folder that a `.git` file names; null: it names none. */
export function namedBy(dotGit: string): string | null {
  try {
    const named = /^gitdir: *(.+?)\s*$/u.exec(readFileSync(dotGit, 'utf8').slice(0, 4096))?.[1];
    return named === undefined ? null : realpathSync.native(path.resolve(path.dirname(dotGit), named));
  } catch {
    return null; // it is gone, or leads nowhere
  }
}

/** All that hold in the project: those of its repository, and the person's own, which may name a folder of hooks or a program by a path that begins in the project. */
async function settingsIn(root: string, home: string | null, signal: AbortSignal): Promise<readonly GitSetting[]> {
  const asked = ['config', '--includes', '--list', '--show-origin', '-z'];
  const parts = ((await runGitAs(home ?? '/nonexistent', root, asked, signal)) ?? '').split('\0');
  const settings: GitSetting[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [origin = '', entry = ''] = [parts[at], parts[at + 1]];
    const [key = '', value = ''] = entry.split(/\n([^]*)/u);
    if (origin.startsWith('file:')) settings.push({ key, value, file: path.resolve(root, origin.slice('file:'.length)) });
  }
  return settings;
}

/** Files of the project in which settings stand, which they include, or which they name as a program, and folders of hooks. */
function programsIn(root: string, settings: readonly GitSetting[]): readonly string[] {
  const found = new Set<string>();
  const add = (place: string): void => void (isInside(place, root) && place !== root && found.add(place));
  for (const { key, value, file } of settings) {
    add(file);
    if (value.startsWith('~')) continue;
    if (/^include(?:if\..*)?\.path$/u.test(key)) {
      const included = path.resolve(path.dirname(file), value);
      if (isInside(included, root)) tryTo(() => makeFile(included, ''));
      add(realOf(included));
    } else if (key === 'core.hookspath') {
      const named = path.resolve(root, value);
      const hooks = path.basename(named) === '_' ? path.dirname(named) : named; // the hooks of husky lie beside the folder that it names
      if (isInside(hooks, root)) tryTo(() => mkdirSync(hooks, { recursive: true }));
      add(realOf(hooks));
    } else if (!isHarmless(key, value))
      for (const word of value.split(/[\s"']+/u)) if (/[/.]/u.test(word) && isFile(path.resolve(root, word))) add(realOf(path.resolve(root, word)));
  }
  return [...found].filter((place) => existsSync(place));
}

/** Folders of submodules that are not fetched: git looks into each, whatever repository stands there. */
async function emptySubmodules(root: string, signal: AbortSignal): Promise<readonly string[]> {
  const named = await listedSettings(path.join(root, '.gitmodules'), signal);
  const folders = named.filter(({ key }) => /^submodule\..*\.path$/u.test(key)).map(({ value }) => path.resolve(root, value));
  return folders.filter((folder) => isInside(folder, root) && isFolder(folder) && !existsSync(path.join(folder, '.git')));
}

function tryTo(make: () => void): void {
  try {
    make();
  } catch {
    // something else stands there, or nobody may write it
  }
}

function isFile(place: string): boolean {
  return statSync(place, { throwIfNoEntry: false })?.isFile() === true;
}

function isFolder(place: string): boolean {
  return lstatSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
}

function realOf(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    return file; // it is not there, or a link leads nowhere
  }
}

function byDepth(places: readonly string[]): readonly string[] {
  return places.toSorted((a, b) => a.split(path.sep).length - b.split(path.sep).length || (a < b ? -1 : 1));
}
