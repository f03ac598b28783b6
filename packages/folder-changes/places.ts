import { lstat } from 'node:fs/promises';
import path from 'node:path';
import { ChangeRefused, codeOf } from './refused.ts';

/** The place in a folder that a relative path means: neither by its names nor by a link in the way does it lead out. */
export async function inside(folder: string, below: string, failed: string): Promise<string> {
  const names = below.split(/[\\/]/);
  const bad = new ChangeRefused({ code: failed, message: `${JSON.stringify(below)} is no folder in ${folder}` });
  if (path.isAbsolute(below) || names.some((name) => name === '' || name === '.' || name === '..')) throw bad;
  for (let depth = 1; depth < names.length; depth += 1) {
    const above = await lstat(path.join(folder, ...names.slice(0, depth))).catch(() => null); // missing: nothing is moved through it
    if (above?.isSymbolicLink()) throw bad;
  }
  return path.join(folder, below);
}

export async function exists(place: string, failed: string): Promise<boolean> {
  try {
    await lstat(place);
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return false;
    throw new ChangeRefused({ code: failed, message: `cannot look at ${place}` }, { cause: error });
  }
}
