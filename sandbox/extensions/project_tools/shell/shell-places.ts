import path from 'node:path';
import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { credentialFiles, type CoveredPath } from '@pith/held-process';
import { FileRefused, isSecretFile } from '@pith/safe-files';
import { SKILL_SOURCES, type Project } from '../files/project.ts';

/** What a command asks for beyond the project. */
export type Access = 'network' | 'home';

const MOST_LOOKED_AT = 200_000;
const NOT_ENTERED: ReadonlySet<string> = new Set(['node_modules', '.git', '.hg', '.svn', '.venv']);
/** Below home: what a command never sees, also where a person lets it see home. */
const PRIVATE = [
  '.pith',
  '.ssh',
  '.gnupg',
  '.aws',
  '.azure',
  '.kube',
  '.docker',
  '.password-store',
  '.config/gcloud',
  '.config/gh',
  '.netrc',
  '.npmrc',
  '.pypirc',
  '.git-credentials',
  '.local/share/keyrings',
  '.mozilla',
  '.config/google-chrome',
  '.config/chromium',
];

/**
 * What lies in the project, or in home where that is shown, and is not for a command: files with secrets are empty, Pith's sandbox and
 * folders of skills cannot be changed, nor what git starts by itself.
 */
export async function coveredPlaces(project: Project, access: readonly Access[], signal: AbortSignal): Promise<readonly CoveredPath[]> {
  const { root, sandbox, home } = project;
  const inProject = (at: string) => at.startsWith(`${root}${path.sep}`);
  const fixed = [
    sandbox,
    ...SKILL_SOURCES.map((folder) => path.join(root, folder, 'skills')),
    ...['.git/hooks', '.git/config', '.mcp.json'].map((name) => path.join(root, name)),
  ].filter((at) => inProject(at) && existsSync(at));
  const hidden = [project.data(), path.join(sandbox, 'data')].filter((at) => existsSync(at) && (inProject(at) || access.includes('home')));
  const secrets = await secretsIn(project, signal);
  const ofHome =
    access.includes('home') && home !== null
      ? [...PRIVATE.map((name) => path.join(home, name)), ...credentialFiles(home)].filter((at) => existsSync(at))
      : [];
  return [
    ...fixed.map((at): CoveredPath => ({ at, as: 'read_only' })),
    ...absentHooks(root),
    ...[...new Set([...hidden, ...secrets, ...ofHome])].map((at): CoveredPath => ({ at, as: 'empty' })),
  ];
}

/** A command could make the folder, and git would run what is in it. */
function absentHooks(root: string): readonly CoveredPath[] {
  const at = path.join(root, '.git/hooks');
  const isRepository = lstatSync(path.dirname(at), { throwIfNoEntry: false })?.isDirectory() === true;
  return isRepository && lstatSync(at, { throwIfNoEntry: false }) === undefined ? [{ at, as: 'empty_folder' }] : [];
}

/** Absolute paths of the project's files that may contain secrets; of links, what they lead to. Throws `file_unavailable` where there are too many files to look at. */
async function secretsIn({ jail }: Project, signal: AbortSignal): Promise<readonly string[]> {
  const found = new Set<string>();
  const folders: (readonly string[])[] = [[]];
  let looked = 0;
  for (let names = folders.pop(); names !== undefined; names = folders.pop()) {
    signal.throwIfAborted();
    if (looked > MOST_LOOKED_AT)
      throw new FileRefused('file_unavailable', 'the project has too many files to find those with secrets, so the command was not run');
    const { entries } = await jail.list(names, MOST_LOOKED_AT).catch(() => ({ entries: [] })); // a command cannot read it either
    looked += entries.length;
    for (const { name, type } of entries) {
      const each = [...names, name];
      if (type === 'directory' && !NOT_ENTERED.has(name)) folders.push(each);
      if (type !== 'directory' && isSecretFile(each)) found.add(realOf(path.join(jail.root, ...each)));
    }
  }
  return [...found].filter((at) => at.startsWith(`${jail.root}${path.sep}`));
}

function realOf(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    return file; // a link that leads nowhere
  }
}
