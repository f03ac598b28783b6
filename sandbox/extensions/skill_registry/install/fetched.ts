import path from 'node:path';
import type { Clock } from 'pith';
import { checkNames, type Listing } from './entry.ts';
import type { Origin } from './origin.ts';

/** Opens whatever an origin is, in the staging folder where it needs room, and closes it after `work`. */
export async function withListing<T>(
  origin: Origin,
  { staging, clock }: { readonly staging: string; readonly clock: Clock },
  work: (listing: Listing) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  if (origin.kind === 'folder') {
    const { openFolderOrigin } = await import('./folder-origin.ts');
    return work(await openFolderOrigin(origin.location));
  }
  if (origin.kind === 'git') {
    const { openGitOrigin } = await import('./git-origin.ts');
    return work(await openGitOrigin(origin, { staging, clock }, signal));
  }
  const { archiveName, openZipOrigin } = await import('./zip-origin.ts');
  let file = origin.location;
  if (/^https?:/.test(file)) {
    const { download } = await import('./download.ts');
    file = path.join(staging, 'archive.zip');
    await download(origin.location, file, clock, signal);
  }
  const zip = await openZipOrigin(file, archiveName(origin.location));
  try {
    checkNames(zip.entries.map((entry) => entry.path)); // also what is not wanted tells what kind of archive it is
    return await work(zip);
  } finally {
    zip.close();
  }
}
