import { lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { isForbidden, isRefusal, type Entry } from '@pith/safe-files';
import type { Project } from '../files/project.ts';

/** A search through the folders of a project. Names lead from the project down. */
export interface FolderSearch {
  /** True: a folder must not be replaced before it is read, except folders of other programs. */
  readonly isStrict: boolean;
  /** Whether the search reads this folder; asked by depth, and not below a folder that it skips. */
  enters(names: readonly string[]): boolean;
  /** `isListed` false: the folder may not be listed, and these entries were looked up by name, since programs may still use them. */
  see(names: readonly string[], entries: readonly Seen[], isListed: boolean): void | Promise<void>;
}

export type Seen = Pick<Entry, 'name' | 'type'>;

/** Folders with many files that are not the project's own: reading them must be cheap. */
export const OF_OTHERS: ReadonlySet<string> = new Set(['node_modules', '.hg', '.svn', '.venv']);

/** Names that are examined before the walk yields. */
const AT_ONCE = 5000;

/** Reads each folder once for all searches. Folders near the root come first. */
export async function walk(
  { jail, root }: Pick<Project, 'jail' | 'root'>,
  all: readonly FolderSearch[],
  signal: AbortSignal,
): Promise<void> {
  const folders: { readonly names: readonly string[]; readonly searches: readonly FolderSearch[] }[] = [{ names: [], searches: all }];
  let looked = 0;
  for (const folder of folders) {
    signal.throwIfAborted();
    const { names } = folder;
    const searches = folder.searches.filter((search) => search.enters(names));
    if (searches.length === 0) continue;
    const isStrict = searches.some((search) => search.isStrict) && !names.some((name) => OF_OTHERS.has(name));
    const place = path.join(root, ...names);
    const listed = isStrict ? await jail.kinds(names).catch(noneIfUnreadable) : entriesOf(place);
    const entries = listed ?? namedEntriesOf(place);
    for (const search of searches) await search.see(names, entries, listed !== null);
    const below = entries.flatMap(({ name, type }) => (type === 'directory' ? [name] : []));
    for (const name of below.sort()) folders.push({ names: [...names, name], searches });
    looked += entries.length + 1;
    if (looked < AT_ONCE) continue;
    looked = 0;
    await yieldToOthers();
  }
}

/**
 * Empty for a folder that is gone or a link by now; null: it may not be listed. Other errors are thrown, since the folder may contain
 * secrets.
 */
function noneIfUnreadable(error: unknown): readonly [] | null {
  if (isForbidden(error)) return null;
  if (isRefusal(error)) return [];
  throw error;
}

function entriesOf(folder: string): readonly Seen[] | null {
  try {
    return readdirSync(folder, { withFileTypes: true }).map((each) => ({
      name: each.name,
      type: each.isDirectory() ? 'directory' : 'other',
    }));
  } catch (error) {
    return isForbidden(error) ? null : []; // it is gone
  }
}

const OF_REPOSITORIES = ['.git', '.hg', '.jj', 'HEAD', 'commondir', 'objects', 'refs'];

function namedEntriesOf(folder: string): readonly Seen[] {
  return OF_REPOSITORIES.flatMap((name) => {
    try {
      const stats = lstatSync(path.join(folder, name), { throwIfNoEntry: false });
      return stats === undefined ? [] : [{ name, type: stats.isDirectory() ? ('directory' as const) : ('other' as const) }];
    } catch {
      return []; // the folder may not be entered either
    }
  });
}

/** A folder that git takes for a bare repository. */
export function isBare(entries: readonly Seen[]): boolean {
  const has = (name: string): boolean => entries.some((entry) => entry.name === name);
  return has('HEAD') && (has('commondir') || (has('objects') && has('refs')));
}
