import path from 'node:path';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { messageOf, PithError } from 'pith';
import { printableLine } from '@pith/plain-text';
import type { Entry, ZipFile } from 'yauzl';
import { LIMITS, refused, type Listing, type OriginEntry } from './entry.ts';

/** Below this size nobody is harmed by however good a compression. */
const SMALL = 64 * 1024;

interface ZipEntry extends OriginEntry {
  readonly entry: Entry;
}

export interface ZipOrigin extends Listing {
  close(): void;
}

/** A zip archive. Sizes are held to the limits before anything is unpacked, and again by who reads. Rejects `origin_refused`. */
export async function openZipOrigin(file: string, name: string): Promise<ZipOrigin> {
  const packed = (await stat(file)).size;
  const { default: yauzl } = await import('yauzl');
  let zip: ZipFile;
  try {
    zip = await yauzl.openPromise(file, { autoClose: false, strictFileNames: true, validateEntrySizes: true });
  } catch (error) {
    throw damaged(error);
  }
  try {
    return {
      entries: await entriesOf(zip, packed),
      commit: null,
      name: { text: name, sure: false },
      read: (wanted) => contentsOf(zip, wanted as readonly ZipEntry[]),
      close: () => zip.close(),
    };
  } catch (error) {
    zip.close();
    throw error instanceof PithError ? error : damaged(error);
  }
}

/** The name that a skill at the top of an archive has where its own text does not say. */
export function archiveName(location: string): string {
  return path.basename(location.replace(/[?#].*$/, '')).replace(/\.zip$/i, '');
}

async function entriesOf(zip: ZipFile, packed: number): Promise<ZipEntry[]> {
  if (zip.entryCount > LIMITS.files * 2)
    throw refused(`it says that it has ${zip.entryCount} entries; at most ${LIMITS.files} files are allowed`);
  const entries: ZipEntry[] = [];
  const folders = new Set<string>();
  let bytes = 0;
  let seen = 0;
  for await (const entry of zip.eachEntry()) {
    const { fileName, uncompressedSize: size, compressedSize } = entry;
    if (++seen > LIMITS.files * 2) throw refused(`it contains more than ${LIMITS.files} files`);
    if (entry.isEncrypted())
      throw refused(`it is encrypted (${JSON.stringify(fileName)})`, 'unpack it by hand, look at it, and install from the folder');
    const mode = entry.externalFileAttributes >>> 16;
    const type = mode & 0o170000;
    if (fileName.endsWith('/') || type === 0o040000) {
      const folder = fileName.replace(/\/$/, '');
      if (size > 0) throw refused(`its folder ${JSON.stringify(fileName)} has contents`);
      if (folders.has(folder)) throw refused(`it contains ${JSON.stringify(fileName)} twice`);
      folders.add(folder);
      continue;
    }
    if (fileName.startsWith('__MACOSX/')) continue;
    const kind = type === 0o120000 ? 'link' : type === 0 || type === 0o100000 ? 'file' : 'other';
    if (kind !== 'file') {
      entries.push({ path: fileName, kind, size, executable: false, entry }); // whose skill it is in is refused, or it is copied
      continue;
    }
    if (!entry.canDecodeFileData()) throw refused(`${JSON.stringify(fileName)} is packed in a way that is not known here`);
    if (size > SMALL && size > compressedSize * LIMITS.ratio)
      throw refused(`${JSON.stringify(fileName)} grows to more than ${LIMITS.ratio} times its size`);
    bytes += size;
    if (bytes > LIMITS.bytes) throw refused(`it contains more than ${LIMITS.bytes / 1024 / 1024} MB`);
    entries.push({ path: fileName, kind, size, executable: (mode & 0o111) !== 0, entry });
  }
  if (entries.length > LIMITS.files) throw refused(`it contains ${entries.length} files; at most ${LIMITS.files} are allowed`);
  if (bytes > SMALL && bytes > packed * LIMITS.ratio) throw refused(`it grows to more than ${LIMITS.ratio} times its size`);
  return entries;
}

async function* contentsOf(zip: ZipFile, wanted: readonly ZipEntry[]): ReturnType<Listing['read']> {
  for (const entry of wanted) yield { entry, chunks: checked(zip, entry) };
}

/** Says in the words of an archive what the stream finds. */
async function* checked(zip: ZipFile, { entry, path: name }: ZipEntry): AsyncGenerator<Uint8Array, void> {
  let sum = 0;
  let stream: Readable | null = null;
  try {
    stream = await zip.openReadStreamPromise(entry);
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      sum = crc32(chunk, sum);
      yield chunk;
    }
  } catch (error) {
    throw error instanceof PithError ? error : damaged(error);
  } finally {
    stream?.destroy();
  }
  if (sum !== entry.crc32) throw refused(`the contents of ${JSON.stringify(name)} are damaged`, 'fetch the archive again');
}

function damaged(error: unknown): PithError {
  return new PithError('origin_refused', `it is not a valid zip archive: ${printableLine(messageOf(error))}`, {
    cause: error,
    cure: 'fetch it again, or unpack it by hand and look at it',
  });
}
