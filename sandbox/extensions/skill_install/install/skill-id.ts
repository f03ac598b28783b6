import path from 'node:path';
import { RESERVED } from './entry.ts';

/** Ids that can be folders everywhere: letters, digits, hyphens, underscores and dots, beginning with a letter or digit; of a plugin's skill `plugin:folder`. */
export function isInstallableId(id: string): boolean {
  const parts = id.split(':');
  return parts.length <= 2 && parts.every(isFolderName);
}

function isFolderName(name: string): boolean {
  return /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}_.-]{0,62}[\p{L}\p{M}\p{N}_-])?$/u.test(name) && !RESERVED.test(name) && name !== 'node_modules';
}

/** The plugin whose skill it is; null: none. */
export function pluginOf(id: string): string | null {
  const cut = id.indexOf(':');
  return cut < 0 ? null : id.slice(0, cut);
}

/** Where a skill is installed, below the folder of skills: no system has to hold a colon. */
export function folderOf(id: string): string {
  return path.join(...id.split(':'));
}

/** The ids among these that a person means: that one, or all of the plugin of that name. */
export function idsMeant(name: string, ids: Iterable<string>): readonly string[] {
  const all = [...ids];
  return all.includes(name) ? [name] : all.filter((id) => pluginOf(id) === name);
}
