import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { PithError } from '../contract/errors.ts';
import { shippedSandbox } from '../contract/shipped-sandbox.ts';

const MARKS = ['agents', 'extensions', 'skills', 'pith.yaml'];

/** The sandbox to work in: the one named, else the nearest `sandbox/` upwards from `cwd`, else Pith's own. Absolute. */
export function locateSandbox(named: string | null, cwd: string): string {
  if (named !== null) {
    const path = resolve(cwd, named);
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
    throw new PithError('usage', `the sandbox '${named}' is not a folder`, { cure: `make one with: pith init ${named}` });
  }
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    if (basename(folder) === 'sandbox' && isSandbox(folder)) return folder;
    if (isSandbox(join(folder, 'sandbox'))) return join(folder, 'sandbox');
    if (dirname(folder) === folder) return shippedSandbox();
  }
}

/** An empty folder is a sandbox to be filled; one that holds other things is somebody else's. */
function isSandbox(folder: string): boolean {
  if (MARKS.some((mark) => existsSync(join(folder, mark)))) return true;
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true && readdirSync(folder).length === 0;
}
