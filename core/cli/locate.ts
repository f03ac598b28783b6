import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PithError } from '../contract/errors.ts';

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
    if (dirname(folder) === folder) return join(packageRoot(), 'sandbox');
  }
}

/** Pith's own folder: the nearest one upwards from this code that holds `bin/pith`. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'bin', 'pith')) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

function isSandbox(folder: string): boolean {
  return MARKS.some((mark) => existsSync(join(folder, mark)));
}
