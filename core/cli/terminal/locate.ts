import { shippedSandbox } from '../../declarations/index.ts';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { PithError } from '../../contract/index.ts';

const MARKS = ['agents', 'extensions', 'skills', 'pith.yaml'];

/** The sandbox to work in: the one named, else the nearest `sandbox/` upwards from `cwd`, else Pith's own. Absolute. */
export function locateSandbox(named: string | null, cwd: string): string {
  if (named !== null) return namedSandbox(named, resolve(cwd, named));
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    if (basename(folder) === 'sandbox' && isSandbox(folder)) return folder;
    if (isSandbox(join(folder, 'sandbox'))) return join(folder, 'sandbox');
    if (dirname(folder) === folder) return shippedSandbox();
  }
}

/** True when `cwd` has no sandbox of its own, so that Pith's is used: somebody may not expect that. */
export function isElsewhere(sandbox: string, cwd: string): boolean {
  return sandbox === shippedSandbox() && relative(dirname(sandbox), resolve(cwd)).startsWith('..');
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

/** A folder without anything is a sandbox to be filled; one that holds other things is somebody else's. */
function isSandbox(folder: string): boolean {
  if (MARKS.some((mark) => existsSync(join(folder, mark)))) return true;
  try {
    return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true && readdirSync(folder).every(isOurs);
  } catch {
    return false; // somebody else's, or a link that leads nowhere: nothing can be read from it either
  }
}

/** What Pith itself leaves in an empty sandbox, and hidden files. */
function isOurs(name: string): boolean {
  return name === 'data' || name.startsWith('.');
}
