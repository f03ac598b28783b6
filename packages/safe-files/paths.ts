import { type Dirent, lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { isNothingThere } from './refused.ts';

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

/** What lies in a folder; nothing where it is gone, is no folder, or nobody may look into it. */
export function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // whoever must know why looks in another way
  }
}

export function namesIn(folder: string): readonly string[] {
  return entriesOf(folder).map(({ name }) => name);
}

/** What a link leads to; null: it is gone, no link, or not to be read. */
export function linkTarget(link: string): string | null {
  try {
    return readlinkSync(link);
  } catch {
    return null; // as above
  }
}

/** Whether something lies there, also where nobody may look at it, or at what it leads to. */
export function isThere(place: string): boolean {
  try {
    lstatSync(place);
    return true;
  } catch (error) {
    return !isNothingThere(error);
  }
}
