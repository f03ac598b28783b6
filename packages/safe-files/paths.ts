import { realpathSync } from 'node:fs';
import path from 'node:path';

/** Whether an absolute path lies in a folder, or is it. Links are not followed. */
export function isInside(file: string, folder: string): boolean {
  return file === folder || isBelow(file, folder);
}

/** As `isInside`, but the folder itself is not below itself. */
export function isBelow(file: string, folder: string): boolean {
  const relative = path.relative(folder, file); // also of the root, which ends with a separator itself
  return relative !== '' && relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
}

/** A path without links; the path as it is where nothing is there yet. */
export function realPathOf(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    return file; // it is made later, or nobody may look into it
  }
}
