import path from 'node:path';
import { existsSync } from 'node:fs';
import type { CoveredPath } from '@pith/supervised-process';
import { isBelow, isSecretFile, realPathOf, FileRefused, isInside, secretPlaces } from '@pith/safe-files';
import type { Project } from '../files/project.ts';
import { guardedPlaces } from './git-guard.ts';
import type { ProjectSecrets } from './secret-files.ts';

/** What a command requests beyond the project. */
export type Access = 'network' | 'home';

/** The places of a command. Files with secrets appear empty; the sandbox, skill folders, and what makes git start programs are fixed. */
export async function placesOf(
  project: Project,
  { files, repositories, unlisted, unchecked }: ProjectSecrets,
  signal: AbortSignal,
): Promise<readonly CoveredPath[]> {
  const { root, sandbox, home } = project;
  const isShown = (at: string) => isBelow(at, root);
  const readOnly = [
    sandbox,
    ...(await project.skills()).flatMap((folder) => [folder, realPathOf(folder)]),
    path.join(root, '.mcp.json'),
    ...(await guardedPlaces({ root, home, dotGits: repositories }, signal)),
  ];
  const empty = [project.data(), path.join(sandbox, 'data'), ...files, ...unlisted, ...unchecked];
  return [
    ...existing(readOnly, isShown).map((at): CoveredPath => ({ at, as: 'read_only' })),
    // A file that only its folder marks as secret would not be recognised elsewhere.
    ...existing(empty, isShown).map((at): CoveredPath => ({
      at,
      as: 'empty',
      isFixed: files.includes(at) && !isSecretFile([path.basename(at)]),
    })),
  ];
}

/** Existing folders of home that a person named in the settings. Absolute, with links resolved. Throws for one with keys. */
export function namedFolders(home: string | null, names: readonly string[]): readonly string[] {
  if (home === null) return [];
  const root = realPathOf(home);
  const keys = secretPlaces(home)
    .filter((place) => existsSync(place))
    .map(realPathOf);
  return names.map((name) => {
    const folder = realPathOf(path.join(home, name));
    const refused = (why: string): FileRefused =>
      new FileRefused('protected', `shell.home names '${name}', ${why}; name another folder in extensions.project_tools.shell.home`);
    if (isInside(root, folder) || !isInside(folder, root)) throw refused('which is not a folder in your home folder');
    const key = keys.find((place) => isInside(folder, place) || isInside(place, folder));
    if (key !== undefined) throw refused(`in which keys are kept (~/${path.relative(root, key)})`);
    return folder;
  });
}

function existing(places: readonly string[], isShown: (at: string) => boolean): readonly string[] {
  return [...new Set(places)].filter((at) => isShown(at) && existsSync(at));
}
