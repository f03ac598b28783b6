import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isPassing } from '@pith/safe-files';
import { canonical } from './skill-reader.ts';

/** The folders in which plugins of other systems describe themselves, such as `.claude-plugin`. */
const MARK = /^\.[a-z]+-plugin$/;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}._-]{0,63}$/u;
const MOST_BYTES = 64 * 1024;

/** Whether this entry makes a folder a plugin. */
export function marksPlugin(entry: string): boolean {
  return MARK.test(entry);
}

/**
 * The name of the plugin in `folder`, marked by its entry `mark`: from its plugin.json, else the folder's name. Throws where the system
 * cannot read it just now.
 */
export function pluginName(folder: string, mark: string): string {
  const name = nameIn(path.join(folder, mark, 'plugin.json'));
  return canonical(name !== null && NAME.test(name) ? name : path.basename(folder));
}

function nameIn(file: string): string | null {
  try {
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(descriptor);
      if (!stats.isFile() || stats.size > MOST_BYTES) return null;
      const { name } = JSON.parse(readFileSync(descriptor, 'utf8')) as { readonly name?: unknown };
      return typeof name === 'string' ? name : null;
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (isPassing(error)) throw error; // with the fallback its skills would have other names
    return null; // missing, or not JSON
  }
}
