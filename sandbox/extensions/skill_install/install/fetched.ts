import path from 'node:path';
import { constants, existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { type Clock, messageOf, PithError } from 'pith';
import { printableLine } from '@pith/plain-text';
import { checkNames, type Listing, type OriginEntry, refused, LIMITS } from './entry.ts';
import { withCopiedLinks } from './copied-links.ts';
import type { Origin } from './origin.ts';
import { folderTree } from '@pith/skill-files';

interface Place {
  readonly staging: string;
  readonly clock: Clock;
  /** Origins that a person named: typed now, or in the settings. Others must be public. */
  readonly allow: readonly string[];
}

/** Opens whatever an origin is, in the staging folder where it needs room, and closes it after `work`. A refusal names the origin. */
export async function withListing<T>(
  origin: Origin,
  place: Place,
  work: (listing: Listing) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  try {
    return await opened(origin, place, async (listing) => work(await withCopiedLinks(listing)), signal);
  } catch (error) {
    if (!(error instanceof PithError) || error.code !== 'origin_refused') throw error;
    const { message, cure, where } = error;
    throw new PithError('origin_refused', `cannot take skills from ${JSON.stringify(origin.location)}: ${message}`, {
      cure,
      where,
      cause: error,
    });
  }
}

async function opened<T>(
  origin: Origin,
  { staging, clock, allow }: Place,
  work: (listing: Listing) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  if (origin.kind === 'folder') return work(await openFolderOrigin(origin.location));
  if (origin.kind === 'git') {
    const { openGitOrigin } = await import('./git-origin.ts');
    return work(await openGitOrigin(origin, { staging, clock, allow }, signal));
  }
  const { archiveName, openZipOrigin } = await import('./zip-origin.ts');
  let file = origin.location;
  if (/^https?:/.test(file)) {
    file = path.join(staging, 'archive.zip');
    await download(origin.location, file, { clock, allow: allow.filter((one) => /^https?:/.test(one)) }, signal);
  }
  const zip = await openZipOrigin(file, archiveName(origin.location));
  try {
    checkNames(zip.entries.map((entry) => entry.path)); // also what is not wanted tells what kind of archive it is
    return await work(zip);
  } finally {
    zip.close();
  }
}

const DEEPEST = 32;

/** A folder of this machine; `.git` is left out. */
async function openFolderOrigin(folder: string): Promise<Listing> {
  if (!existsSync(folder))
    throw new PithError('origin_gone', `the folder ${folder} does not exist any more`, {
      cure: 'put it back, or remove what was installed from it',
    });
  const tree = await folderTree(folder, { entries: LIMITS.listed, depth: DEEPEST }, { leavesOut: (name) => name === '.git' });
  if (tree.more)
    throw refused(`${folder} contains more than ${LIMITS.listed} files, or lies too deep`, 'name the folder of the skill itself');
  const plain = { size: 0, executable: false };
  const entries: OriginEntry[] = [
    ...tree.files.map(({ path: name, size, executable }): OriginEntry => ({ path: name, kind: 'file', size, executable })),
    ...tree.links.map((link): OriginEntry => ({ ...plain, path: link.path, kind: 'link', target: link.target })),
    ...[...tree.others, ...tree.unnamed].map((name): OriginEntry => ({ ...plain, path: name, kind: 'other' })),
  ];
  return {
    entries,
    commit: null,
    name: { text: path.basename(folder), sure: true },
    async *read(wanted) {
      for (const entry of wanted) yield { entry, chunks: contentsOf(folder, entry) };
    },
  };
}

async function* contentsOf(folder: string, { path: name }: OriginEntry): AsyncGenerator<Uint8Array, void> {
  try {
    const handle = await open(path.join(folder, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    yield* handle.createReadStream() as AsyncIterable<Buffer>;
  } catch (error) {
    throw new PithError('origin_refused', `its ${printableLine(name)} cannot be read: ${messageOf(error)}`, {
      cause: error,
      cure: 'make it readable, or take the others',
    });
  }
}

const TIME_MS = 120_000;

/**
 * Writes what lies at an http(s) address into a file. `allow`: addresses that may be private. Rejects `download_failed`, `address_refused`,
 * and `origin_refused` for what is too large.
 */
async function download(
  address: string,
  file: string,
  { clock, allow }: { readonly clock: Clock; readonly allow: readonly string[] },
  signal?: AbortSignal,
): Promise<void> {
  const late = new AbortController();
  const cancel = clock.after(TIME_MS, () => late.abort(new Error(`it took longer than ${TIME_MS / 1000} s`)));
  const both = signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]);
  try {
    const { guardedFetch } = await import('@pith/guarded-fetch');
    const answer = await guardedFetch({ allow })(address, {
      signal: both,
      headers: { accept: 'application/zip, application/octet-stream' },
    });
    if (!answer.ok || answer.body === null) throw new Error(`the server answers ${answer.status}`);
    const tooLarge = () => refused(`it is larger than ${LIMITS.bytes / 1024 / 1024} MB`);
    if (Number(answer.headers.get('content-length') ?? 0) > LIMITS.bytes) throw tooLarge();
    const handle = await open(file, 'wx', 0o600);
    try {
      let bytes = 0;
      for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
        bytes += chunk.length;
        if (bytes > LIMITS.bytes) throw tooLarge();
        await handle.writeFile(chunk);
      }
    } finally {
      await handle.close();
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PithError) throw error;
    const why = error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : messageOf(error);
    throw new PithError('download_failed', `cannot fetch ${address}: ${why}`, {
      cause: error,
      cure: 'check the address and the connection',
    });
  } finally {
    cancel();
  }
}
