import { existsSync } from 'node:fs';
import path from 'node:path';
import { entriesOf, isInside, isThere } from '@pith/safe-files';
import { foreignOwner } from './foreign-owner.ts';

/** The files in which a project instructs agents, best first. */
const INSTRUCTION_FILES: readonly string[] = ['AGENTS.md', 'CLAUDE.md'];

/** Stands for instructions in all folders below the project, later ones too: an agent that works in one gets the nearest. */
const IN_FOLDERS = '**';

const OF_PITH_ITSELF: readonly string[] = [
  ...INSTRUCTION_FILES,
  ...INSTRUCTION_FILES.map((name) => `${IN_FOLDERS}/${name}`),
  '.mcp.json',
  '.env',
];

/** What Pith, its skills and its agents may use of a trusted project. */
const PROJECT_FILES: readonly string[] = [
  ...OF_PITH_ITSELF,
  'skills',
  ...['.agent', '.agents', '.claude', '.codex', '.cursor', '.kodelet'].map((folder) => `${folder}/skills`),
];

/**
 * The names of everything that may be used of a project, relative to it. Of the folders above, up to the git root, and of those down to the
 * working directory, only instructions.
 */
export function projectFileNames(project: string, workingDirectory = project): readonly string[] {
  const above = foldersAbove(project).map((folder) => path.relative(project, folder));
  const folders = [...above, ...foldersDownTo(project, workingDirectory)];
  return [...PROJECT_FILES, ...folders.flatMap((folder) => INSTRUCTION_FILES.map((name) => path.join(folder, name)))];
}

/** The names that a person agreed to when they were shown `shown`. */
export function agreedNames(names: readonly string[], shown: readonly string[]): readonly string[] {
  const isInFolder = (name: string) => !name.startsWith('..') && INSTRUCTION_FILES.includes(path.basename(name));
  return names.filter((name) => shown.includes(name) || (isInFolder(name) && shown.includes(path.join(IN_FOLDERS, path.basename(name)))));
}

/** What is used when Pith's own folder is the project: its skill folders wait for a person's decision, as elsewhere. */
export function ownProjectFiles(project: string, workingDirectory: string): readonly string[] {
  return projectFileNames(project, workingDirectory).filter((name) => agreedNames([name], OF_PITH_ITSELF).length > 0);
}

/** The existing ones of a project's names; also those that we may not read, or whose target we may not read. */
export function projectFilesThere(project: string): readonly string[] {
  const inFolders = instructionsBelow(project);
  return projectFileNames(project).filter((name) =>
    name.startsWith(IN_FOLDERS) ? inFolders.has(path.basename(name)) : isThere(path.join(project, name)),
  );
}

/** The limit of the search, since a person waits for the question. */
const MOST_FOLDERS = 2000;
const WITHOUT_INSTRUCTIONS = /^(?:\..*|node_modules|__pycache__)$/u;

/** The names of instruction files in folders below; all possible names where there are too many folders to search. */
function instructionsBelow(project: string): ReadonlySet<string> {
  const found = new Set<string>();
  const folders = [project];
  for (const folder of folders) {
    if (folders.length > MOST_FOLDERS) return new Set(INSTRUCTION_FILES);
    for (const entry of entriesOf(folder)) {
      if (entry.isDirectory() && !WITHOUT_INSTRUCTIONS.test(entry.name)) folders.push(path.join(folder, entry.name));
      if (folder !== project && INSTRUCTION_FILES.includes(entry.name)) found.add(entry.name);
    }
  }
  return found;
}

/** The folders from the project, exclusive, down to `place`, relative to the project. */
function foldersDownTo(project: string, place: string): readonly string[] {
  if (!isInside(place, project)) return [];
  const names = path.relative(project, place).split(path.sep).filter(Boolean);
  return names.map((_, index) => path.join(...names.slice(0, index + 1)));
}

/** The nearest folder with a `.git` from `folder` upwards; null: there is none, or another user made it. */
export function gitRootOf(folder: string): string | null {
  for (let at = folder; ; at = path.dirname(at)) {
    const mark = path.join(at, '.git');
    if (existsSync(mark)) return isForeign(at) || isForeign(mark) ? null : at;
    if (at === path.dirname(at)) return null;
  }
}

/** Stops at a folder of another user: it, and all above it, may be anybody's. */
function foldersAbove(project: string): readonly string[] {
  const root = gitRootOf(project);
  const found: string[] = [];
  if (root === null) return found;
  for (let at = project; at !== root; found.push(at)) {
    at = path.dirname(at);
    if (isForeign(at)) break;
  }
  return found;
}

function isForeign(place: string): boolean {
  return foreignOwner([place]) !== null;
}
