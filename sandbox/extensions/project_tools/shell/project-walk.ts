import { lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { FileRefused, type Entry } from '@pith/safe-files';
import type { Project } from '../files/project.ts';

/** What looks for something in the folders of a project. Names lead from the project down. */
export interface FolderSearch {
  /** True: no folder may be another by the time that it is looked into, but for those of others. */
  readonly isStrict: boolean;
  /** Whether it looks into this folder; asked in the order of depth, and of none in a folder that it leaves out. */
  enters(names: readonly string[]): boolean;
  /** `isListed` false: nobody may list the folder, and these are what was looked for by name: programs may use what lies in it all the same. */
  see(names: readonly string[], entries: readonly Seen[], isListed: boolean): void | Promise<void>;
}

export type Seen = Pick<Entry, 'name' | 'type'>;

/** What holds many files that are not the project's own: looking into them must be cheap. */
export const OF_OTHERS: ReadonlySet<string> = new Set(['node_modules', '.hg', '.svn', '.venv']);

/** Names that are looked at before others have their turn. */
const AT_ONCE = 5000;

/** Looks into each folder once for all searches. Folders near the root come first. */
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

/** Of a folder that is gone or a link by now nothing; null: nobody may list it. What fails for another reason may hold secrets. */
function noneIfUnreadable(error: unknown): readonly [] | null {
  if (error instanceof FileRefused) return [];
  if (isForbidden(error)) return null;
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
      return []; // nobody may enter the folder either
    }
  });
}

export function isForbidden(error: unknown): boolean {
  return ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** A folder that git takes for a repository without a working tree. */
export function isBare(entries: readonly Seen[]): boolean {
  const has = (name: string): boolean => entries.some((entry) => entry.name === name);
  return has('HEAD') && (has('commondir') || (has('objects') && has('refs')));
}
