import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { printableLine } from '@pith/plain-text';
import { messageOf, PithError } from '../contract/index.ts';

/** The folder that `option` names, absolute. Throws `settings_invalid` where there is none. */
export function folderAt(given: string, option: string): string {
  const folder = path.resolve(given);
  if (isFolder(folder)) return folder;
  throw new PithError('settings_invalid', `${option}: there is no folder ${printableLine(folder)}`, { cure: 'correct its path' });
}

function isFolder(folder: string): boolean {
  try {
    return statSync(folder).isDirectory();
  } catch {
    return false; // it cannot be a path either
  }
}

/** Step by step: to make `/proc/x` at once Node tries for ever. */
function makeFolder(folder: string): void {
  if (isFolder(folder)) return;
  makeFolder(path.dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (!isFolder(folder)) throw error; // else somebody has made it meanwhile
  }
}

/** Makes the folder, which has to be there before somebody is answered. */
export function storeAt(given: string): string {
  const folder = path.resolve(given);
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK);
    return folder;
  } catch (error) {
    throw new PithError('settings_invalid', `store: ${printableLine(folder)} cannot be written: ${printableLine(messageOf(error))}`, {
      cause: error,
      cure: "name a folder that can be written, or 'memory'",
    });
  }
}
