import path from 'node:path';
import { existsSync, lstatSync, realpathSync, rmSync } from 'node:fs';
import type { CoveredPath } from '@pith/held-process';
import { runGit } from '@pith/project-files';
import { FileRefused, isBelow, isInside, isSecretFile, secretPlaces } from '@pith/safe-files';
import { SKILL_SOURCES, type Project } from '../files/project.ts';

/** What a command asks for beyond the project. */
export type Access = 'network' | 'home';

/** What of the project, and of home where that is shown, is not for a command. */
export interface ShellPlaces {
  readonly covered: readonly CoveredPath[];
  /** Takes away what would decide which programs git starts, and was not there before; resolves with the names, from the project down. Call it when the command has ended. */
  takeAway(): readonly string[];
}

/** Files with secrets are empty; Pith's sandbox, folders of skills, and what makes git start programs cannot be changed. */
export async function placesOf(project: Project, access: readonly Access[], signal: AbortSignal): Promise<ShellPlaces> {
  const { root, sandbox, home } = project;
  const shown = access.includes('home') && home !== null ? [root, home] : [root];
  const isShown = (at: string) => shown.some((place) => isBelow(at, place));
  const { secrets, repositories } = await lookThrough(project, signal);
  const git = repositories.map(guardedOf);
  const included = await includedSettings(root, signal);
  const absent = [...git.flatMap((each) => each.redirection), ...included.filter((at) => isBelow(at, root) && !existsSync(at))];
  const readOnly = [
    sandbox,
    ...SKILL_SOURCES.map((folder) => realOf(path.join(root, folder, 'skills'))),
    path.join(root, '.mcp.json'),
    ...git.flatMap((each) => each.readOnly),
    ...(await ownHooks(root, signal)),
    ...included.map(realOf),
  ];
  const empty = [
    project.data(),
    path.join(sandbox, 'data'),
    ...secrets,
    ...(shown.length === 1 ? [] : secretPlaces(home as string).map(realOf)),
  ];
  return {
    covered: [
      ...existing(readOnly, isShown).map((at): CoveredPath => ({ at, as: 'read_only' })),
      ...git.flatMap((each) => each.absentHooks).map((at): CoveredPath => ({ at, as: 'empty_folder' })),
      ...existing(empty, isShown).map((at): CoveredPath => ({ at, as: 'empty' })),
    ],
    takeAway() {
      const made = absent.filter((at) => lstatSync(at, { throwIfNoEntry: false }) !== undefined);
      for (const at of made) rmSync(at, { recursive: true, force: true, maxRetries: 2 });
      return made.map((at) => path.relative(root, at));
    },
  };
}

function existing(places: readonly string[], isShown: (at: string) => boolean): readonly string[] {
  return [...new Set(places)].filter((at) => isShown(at) && existsSync(at));
}

interface GuardedRepository {
  readonly readOnly: readonly string[];
  /** A command could make it, and git would run what is in it. */
  readonly absentHooks: readonly string[];
  /** Files that would bring other settings, of another repository or of this working tree. They are not there. */
  readonly redirection: readonly string[];
}

/** What in `.git` makes git start programs. Where `.git` is a file, it names the repository, which lies elsewhere. */
function guardedOf(dotGit: string): GuardedRepository {
  if (lstatSync(dotGit, { throwIfNoEntry: false })?.isDirectory() !== true) return { readOnly: [dotGit], absentHooks: [], redirection: [] };
  const at = (name: string) => path.join(dotGit, name);
  const isAbsent = (file: string) => lstatSync(file, { throwIfNoEntry: false }) === undefined;
  return {
    readOnly: ['config', 'config.worktree', 'commondir', 'hooks', 'modules', 'worktrees'].map(at),
    absentHooks: [at('hooks')].filter(isAbsent),
    redirection: [at('commondir'), at('config.worktree')].filter(isAbsent),
  };
}

/** A folder of the project from which its settings let git take hooks. */
async function ownHooks(root: string, signal: AbortSignal): Promise<readonly string[]> {
  const asked = ['config', '--local', '--includes', '--type=path', '--get', 'core.hooksPath'];
  const printed = (await runGit(root, asked, signal))?.trim() ?? '';
  if (printed === '') return [];
  const top = (await runGit(root, ['rev-parse', '--show-toplevel'], signal))?.trim() || root;
  const at = path.resolve(top, printed);
  return [path.basename(at) === '_' ? path.dirname(at) : at]; // the hooks of husky lie beside the folder that it names
}

/** Files that the settings of the repository include, whether they are there or not. */
async function includedSettings(root: string, signal: AbortSignal): Promise<readonly string[]> {
  const listed = await runGit(root, ['config', '--local', '--includes', '--list', '--show-origin', '-z'], signal);
  const parts = (listed ?? '').split('\0');
  const found = new Set<string>();
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const origin = path.resolve(root, (parts[at] ?? '').replace(/^file:/u, ''));
    const [key = '', value = ''] = (parts[at + 1] ?? '').split(/\n([^]*)/u);
    found.add(origin);
    if (/^include(?:if\..*)?\.path$/iu.test(key) && !value.startsWith('~')) found.add(path.resolve(path.dirname(origin), value));
  }
  return [...found];
}

const MOST_LOOKED_AT = 200_000;
const NOT_ENTERED: ReadonlySet<string> = new Set(['node_modules', '.hg', '.svn', '.venv']);

interface Found {
  /** Files that may contain secrets; of links, what they lead to. Absolute, as all here. */
  readonly secrets: readonly string[];
  /** Each `.git`: a folder, or a file that names one. */
  readonly repositories: readonly string[];
}

/** Throws `file_unavailable` where there are too many files to look at. */
async function lookThrough({ jail, root }: Project, signal: AbortSignal): Promise<Found> {
  const secrets = new Set<string>();
  const repositories: string[] = [];
  const folders: (readonly string[])[] = [[]];
  let looked = 0;
  for (let names = folders.pop(); names !== undefined; names = folders.pop()) {
    signal.throwIfAborted();
    if (looked > MOST_LOOKED_AT)
      throw new FileRefused('file_unavailable', 'the project has too many files to check for secrets, so the command was not run');
    const { entries } = await jail.list(names, MOST_LOOKED_AT).catch(() => ({ entries: [] })); // a command cannot read it either
    looked += entries.length;
    for (const { name, type } of entries) {
      const each = [...names, name];
      const place = () => realOf(path.join(root, ...each));
      if (name === '.git') repositories.push(place());
      else if (type === 'directory' && !NOT_ENTERED.has(name)) folders.push(each);
      else if (type !== 'directory' && isSecretFile(each)) secrets.add(place());
    }
  }
  return { secrets: [...secrets], repositories: repositories.filter((at) => isInside(at, root)) };
}

function realOf(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    return file; // it is not there, or a link leads nowhere
  }
}
