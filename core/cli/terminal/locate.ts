import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { realPathOf } from '@pith/safe-files';
import { PithError } from '../../contract/index.ts';
import { gitRootOf, userHome } from '../../trust/index.ts';

const MARKS = ['agents', 'extensions', 'skills', 'pith.yaml'];

/** The target of a command line. Absolute paths. */
export interface Located {
  readonly sandbox: string;
  /** The project without a sandbox that was found instead; null: `sandbox` exists. */
  readonly bareProject: string | null;
}

/** The named sandbox, else the nearest `sandbox/` upwards from `cwd`, else the project without one: the git root, else `cwd`. */
export function locateTarget(named: string | null, cwd: string, home: string | null = userHome()): Located {
  if (named !== null) return { sandbox: namedSandbox(named, resolve(cwd, named)), bareProject: null };
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    if (basename(folder) === 'sandbox' && isSandbox(folder)) return { sandbox: folder, bareProject: null };
    if (isSandbox(join(folder, 'sandbox'))) return { sandbox: join(folder, 'sandbox'), bareProject: null };
    if (dirname(folder) === folder) break;
  }
  const bareProject = projectAt(resolve(cwd), home);
  return { sandbox: join(bareProject, 'sandbox'), bareProject };
}

/** The git root around `cwd`, unless that is the home folder or the root, as where somebody keeps their dot files in git. */
function projectAt(cwd: string, home: string | null): string {
  const root = gitRootOf(cwd);
  return root === null || root === dirname(root) || (home !== null && realPathOf(root) === realPathOf(home)) ? cwd : root;
}

function namedSandbox(named: string, path: string): string {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new PithError('usage', `the sandbox '${named}' is not a folder`, { cure: `make one with: pith init ${named}` });
  if (isSandbox(path)) return path;
  const below = join(path, 'sandbox');
  const inside = existsSync(below) && isSandbox(below);
  throw new PithError('usage', `'${named}' is not a sandbox: it has none of ${MARKS.join(', ')}`, {
    cure: inside ? `did you mean '${join(named, 'sandbox')}'?` : `make one with: pith init ${named}`,
  });
}

/** An empty folder is a sandbox to be filled; one with other files belongs to something else. */
function isSandbox(folder: string): boolean {
  if (MARKS.some((mark) => existsSync(join(folder, mark)))) return true;
  try {
    return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true && readdirSync(folder).every(isOurs);
  } catch {
    return false; // another user's, or a broken link: nothing can be read from it either
  }
}

/** Files that Pith itself leaves in an empty sandbox, and hidden files. */
function isOurs(name: string): boolean {
  return name === 'data' || name.startsWith('.');
}
