import path from 'node:path';
import { existsSync, realpathSync } from 'node:fs';
import type { CoveredPath } from '@pith/held-process';
import { FileRefused, isBelow, isSecretFile } from '@pith/safe-files';
import { SKILL_SOURCES, type Project } from '../files/project.ts';
import { guardedPlaces } from './git-guard.ts';

/** What a command asks for beyond the project. */
export type Access = 'network' | 'home';

/** Files with secrets are empty; Pith's sandbox, folders of skills, and what makes git start programs cannot be changed. `dotGits`: each `.git` that is there, from the project down. */
export async function placesOf(project: Project, dotGits: readonly string[], signal: AbortSignal): Promise<readonly CoveredPath[]> {
  const { root, sandbox, home } = project;
  const isShown = (at: string) => isBelow(at, root);
  const secrets = await secretsIn(project, signal);
  const real = dotGits.filter((place) => !AMONG_PACKAGES.test(place)).map((place) => realOf(path.join(root, place)));
  const readOnly = [
    sandbox,
    ...SKILL_SOURCES.map((folder) => realOf(path.join(root, folder, 'skills'))),
    path.join(root, '.mcp.json'),
    ...(await guardedPlaces({ root, home, dotGits: real.filter(isShown) }, signal)),
  ];
  const empty = [project.data(), path.join(sandbox, 'data'), ...secrets];
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

const MOST_LOOKED_AT = 200_000;
const NOT_ENTERED: ReadonlySet<string> = new Set(['node_modules', '.git', '.hg', '.svn', '.venv']);

/** Files that may contain secrets; of links, what they lead to. Absolute. Throws `file_unavailable` where there are too many files to look at. */
async function secretsIn({ jail, root }: Project, signal: AbortSignal): Promise<readonly string[]> {
  const secrets = new Set<string>();
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
      if (type === 'directory' && !NOT_ENTERED.has(name)) folders.push(each);
      else if (type !== 'directory' && isSecretFile(each)) secrets.add(realOf(path.join(root, ...each)));
    }
  }
  return [...secrets];
}

function realOf(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    return file; // it is not there, or a link leads nowhere
  }
}
