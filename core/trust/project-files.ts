import { existsSync } from 'node:fs';
import path from 'node:path';
import { whyForeign } from './foreign-owner.ts';

/** Where a project says how agents work in it, best first. */
const INSTRUCTION_FILES: readonly string[] = ['AGENTS.md', 'CLAUDE.md'];

const OF_PITH_ITSELF: readonly string[] = [...INSTRUCTION_FILES, '.mcp.json', '.env'];

/** Of a project that a person trusts: what Pith, its skills and its agents may take from it. */
const PROJECT_FILES: readonly string[] = [
  ...OF_PITH_ITSELF,
  'skills',
  ...['.agent', '.agents', '.claude', '.codex', '.cursor', '.kodelet'].map((folder) => `${folder}/skills`),
];

/** The names of all that may be taken from a project, relative to it: of the folders above it, up to the git root, only instructions. */
export function projectFileNames(project: string): readonly string[] {
  const above = foldersAbove(project).map((folder) => path.relative(project, folder));
  return [...PROJECT_FILES, ...above.flatMap((folder) => INSTRUCTION_FILES.map((name) => path.join(folder, name)))];
}

/** What Pith's own folder may say when it is the project: its skill folders wait for a person, as elsewhere. */
export function ownProjectFiles(project: string): readonly string[] {
  return OF_PITH_ITSELF.map((name) => path.join(project, name));
}

/** The nearest folder with a `.git` from `folder` upwards; null: there is none, or another user made it. */
export function gitRootOf(folder: string): string | null {
  for (let at = folder; ; at = path.dirname(at)) {
    const mark = path.join(at, '.git');
    if (existsSync(mark)) return isForeign(at) || isForeign(mark) ? null : at;
    if (at === path.dirname(at)) return null;
  }
}

/** None above a folder that is somebody else's: what lies there, and above it, may be anybody's. */
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
  const user = process.getuid?.();
  return user !== undefined && whyForeign(place, user) !== null;
}
