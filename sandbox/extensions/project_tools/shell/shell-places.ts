import path from 'node:path';
import { existsSync } from 'node:fs';
import type { CoveredPath } from '@pith/held-process';
import { isBelow } from '@pith/safe-files';
import { SKILL_SOURCES, type Project } from '../files/project.ts';
import { guardedPlaces } from './git-guard.ts';
import { realOf, type ProjectSecrets } from './secret-files.ts';

/** What a command asks for beyond the project. */
export type Access = 'network' | 'home';

/** Files with secrets are empty; Pith's sandbox, folders of skills, and what makes git start programs cannot be changed. `dotGits`: each `.git` that is there, from the project down. */
export async function placesOf(
  project: Project,
  dotGits: readonly string[],
  { files, unchecked }: ProjectSecrets,
  signal: AbortSignal,
): Promise<readonly CoveredPath[]> {
  const { root, sandbox, home } = project;
  const isShown = (at: string) => isBelow(at, root);
  const real = dotGits.filter((place) => !AMONG_PACKAGES.test(place)).map((place) => realOf(path.join(root, place)));
  const readOnly = [
    sandbox,
    ...SKILL_SOURCES.map((folder) => realOf(path.join(root, folder, 'skills'))),
    path.join(root, '.mcp.json'),
    ...(await guardedPlaces({ root, home, dotGits: real.filter(isShown) }, signal)),
  ];
  const empty = [project.data(), path.join(sandbox, 'data'), ...files, ...unchecked];
  return [
    ...existing(readOnly, isShown).map((at): CoveredPath => ({ at, as: 'read_only' })),
    ...existing(empty, isShown).map((at): CoveredPath => ({ at, as: 'empty' })),
  ];
}

/** What installs of packages replace as a whole: repositories in there are not held, only looked at. */
const AMONG_PACKAGES = /(?:^|\/)(?:node_modules|\.venv)\//u;

function existing(places: readonly string[], isShown: (at: string) => boolean): readonly string[] {
  return [...new Set(places)].filter((at) => isShown(at) && existsSync(at));
}
