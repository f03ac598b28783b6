import { type Dirent, lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { isNothingThere } from './refused.ts';

/** Whether an absolute path is the folder or in it. Links are not followed. */
export function isInside(file: string, folder: string): boolean {
  return file === folder || isBelow(file, folder);
}

/** As `isInside`, but false for the folder itself. */
export function isBelow(file: string, folder: string): boolean {
  const relative = path.relative(folder, file); // also for the root, which ends with a separator
  return relative !== '' && relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
}

/** The path with links resolved; unchanged where nothing exists yet. */
export function realPathOf(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    return file; // it does not exist yet, or may not be read
  }
}

/** The entries of a folder; empty where it is missing, not a folder, or may not be read. */
export function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // callers that need the reason look in another way
  }
}

export function namesIn(folder: string): readonly string[] {
  return entriesOf(folder).map(({ name }) => name);
}

/** The target of a link; null: missing, not a link, or not readable. */
export function linkTarget(link: string): string | null {
  try {
    return readlinkSync(link);
  } catch {
    return null; // as above
  }
}

/** Whether something exists there, also where we may not read it or its target. */
export function isThere(place: string): boolean {
  try {
    lstatSync(place);
    return true;
  } catch (error) {
    return !isNothingThere(error);
  }
}
