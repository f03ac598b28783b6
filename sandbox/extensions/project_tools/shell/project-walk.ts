import { readdirSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { FileRefused, type Entry } from '@pith/safe-files';
import type { Project } from '../files/project.ts';

/** What looks for something in the folders of a project. Names lead from the project down. */
export interface FolderSearch {
  /** True: no folder may be another by the time that it is looked into. */
  readonly isStrict: boolean;
  /** Whether it looks into this folder; asked in the order of depth, and of none in a folder that it leaves out. */
  enters(names: readonly string[]): boolean;
  see(names: readonly string[], entries: readonly Seen[]): void | Promise<void>;
}

export type Seen = Pick<Entry, 'name' | 'type'>;

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
    const isStrict = searches.some((search) => search.isStrict);
    const entries = isStrict ? await jail.kinds(names).catch(noneIfUnreadable) : entriesOf(path.join(root, ...names));
    for (const search of searches) await search.see(names, entries);
    const below = entries.flatMap(({ name, type }) => (type === 'directory' ? [name] : []));
    for (const name of below.sort()) folders.push({ names: [...names, name], searches });
    looked += entries.length + 1;
    if (looked < AT_ONCE) continue;
    looked = 0;
    await yieldToOthers();
  }
}

/** A folder that is gone, is a link by now, or that a command cannot read either. What fails for another reason may hold secrets. */
function noneIfUnreadable(error: unknown): readonly [] {
  if (error instanceof FileRefused || ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
  throw error;
}

function entriesOf(folder: string): readonly Seen[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).map((each) => ({
      name: each.name,
      type: each.isDirectory() ? 'directory' : 'other',
    }));
  } catch {
    return []; // gone, or not to be listed: git cannot use it either
  }
}
