import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { type Inside, openBelow, openFolder, type ProveBy, stillInside } from './inside.ts';

/** A file's media type by its first bytes, else by its extension, else `application/octet-stream`. */
function mediaType(path: string, head: Uint8Array): string {
  const start = Buffer.from(head.subarray(0, 12)).toString('latin1');
  for (const [magic, type] of MAGIC) if (start.startsWith(magic)) return EXTENSIONS.get(extensionOf(path)) ?? type;
  return EXTENSIONS.get(extensionOf(path)) ?? 'application/octet-stream';
}

const MAGIC: readonly (readonly [string, string])[] = [
  ['\x89PNG', 'image/png'],
  ['\xff\xd8\xff', 'image/jpeg'],
  ['GIF8', 'image/gif'],
  ['%PDF', 'application/pdf'],
  ['PK\x03\x04', 'application/zip'],
  ['\x1f\x8b', 'application/gzip'],
  ['\x7fELF', 'application/x-executable'],
];

const EXTENSIONS: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['ico', 'image/x-icon'],
  ['pdf', 'application/pdf'],
  ['zip', 'application/zip'],
  ['gz', 'application/gzip'],
  ['woff', 'font/woff'],
  ['woff2', 'font/woff2'],
  ['ttf', 'font/ttf'],
  ['mp3', 'audio/mpeg'],
  ['wav', 'audio/wav'],
  ['mp4', 'video/mp4'],
  ['wasm', 'application/wasm'],
  ['sqlite', 'application/vnd.sqlite3'],
  ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
]);

function extensionOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1).toLowerCase();
}

export type Resource =
  | {
      readonly kind: 'text';
      readonly path: string;
      readonly text: string;
      readonly part: number;
      readonly parts: number;
      readonly size: number;
    }
  | { readonly kind: 'binary'; readonly path: string; readonly type: string; readonly size: number; readonly sha256: string }
  | NoResource;

export type ResourceBytes =
  | { readonly kind: 'bytes'; readonly path: string; readonly bytes: Uint8Array }
  | { readonly kind: 'too_large'; readonly path: string; readonly size: number }
  | NoResource;

/** Missing, not a file, outside or not allowed: the answer never tells which. */
interface NoResource {
  readonly kind: 'refused';
}

/** The size in bytes of one part of a text. */
export const PART_BYTES = 1024 * 1024;

interface HowToRead {
  readonly part?: number;
  readonly signal?: AbortSignal;
  /** Default: what the system supports. */
  readonly proveBy?: ProveBy;
}

/**
 * One file of a skill's real folder, read from a descriptor that was checked after opening: a regular file with one link whose path is
 * inside. A leading `references/` may be missing or superfluous where only one of both files exists.
 */
export async function readResource(realDirectory: string, given: string, { part = 1, signal, proveBy }: HowToRead = {}): Promise<Resource> {
  const folder = await openFolder(realDirectory, proveBy);
  return withResource<Resource>(folder, given, (file, path, size) => contentOf(file, path, size, { part, signal }));
}

/** All bytes of one file, with the checks of `readResource`. */
export async function resourceBytes(realDirectory: string, given: string, most: number): Promise<ResourceBytes> {
  return withResource<ResourceBytes>(await openFolder(realDirectory), given, async (file, path, size) =>
    size > most ? { kind: 'too_large', path, size } : { kind: 'bytes', path, bytes: await bytesOf(file, 0, size) },
  );
}

type Use<T> = (file: Inside, path: string, size: number) => Promise<T | null>;

/** Closes the folder. */
async function withResource<T>(folder: Inside | null, given: string, use: Use<T>): Promise<T | NoResource> {
  if (folder === null) return { kind: 'refused' };
  try {
    const parts = componentsOf(given);
    if (parts === null) return { kind: 'refused' };
    for (const candidate of [parts, parts[0] === 'references' ? parts.slice(1) : ['references', ...parts]]) {
      const resource = candidate.length === 0 ? null : await readFrom(folder, candidate, use);
      if (resource !== null) return resource;
    }
    return { kind: 'refused' };
  } finally {
    await folder.handle.close();
  }
}

/** The components of a relative path that leads below; null for every other path. Nothing is decoded. */
export function componentsOf(given: string): readonly string[] | null {
  const trimmed = given.startsWith('./') ? given.slice(2) : given;
  if (trimmed === '' || trimmed.length > 4096 || trimmed.includes('\0') || trimmed.includes('\\')) return null;
  const parts = trimmed.split('/');
  return parts.some((part) => part === '' || part === '.' || part === '..' || Buffer.byteLength(part) > 255) ? null : parts;
}

async function readFrom<T>(folder: Inside, parts: readonly string[], use: Use<T>): Promise<T | null> {
  const file = await openBelow(folder, parts);
  if (file === null) return null;
  try {
    const before = await file.handle.stat();
    if (!isOwnFile(before) || !(await stillInside(file))) return null;
    const resource = await use(file, parts.join('/'), before.size);
    const after = await file.handle.stat();
    return isOwnFile(after) && (await stillInside(file)) ? resource : null;
  } finally {
    await file.handle.close();
  }
}

/** A regular file without a second name elsewhere. */
export function isOwnFile(stats: Stats): boolean {
  return stats.isFile() && stats.nlink === 1;
}

async function contentOf(
  file: Inside,
  path: string,
  size: number,
  { part, signal }: { readonly part: number; readonly signal: AbortSignal | undefined },
): Promise<Resource | null> {
  const parts = Math.max(1, Math.ceil(size / PART_BYTES));
  const head = await bytesOf(file, 0, Math.min(size, 8192));
  if (!head.includes(0)) {
    if (part > parts) return null;
    const text = await textOf(file, size, part, signal);
    if (text !== null) return { kind: 'text', path, text, part, parts, size };
  }
  const hash = createHash('sha256');
  for (let at = 0; at < size; at += PART_BYTES) {
    signal?.throwIfAborted();
    hash.update(await bytesOf(file, at, Math.min(PART_BYTES, size - at)));
  }
  return { kind: 'binary', path, type: mediaType(path, head), size, sha256: hash.digest('hex') };
}

/** The text of a part, whose ends are moved forward to the start of a character; null when it is not UTF-8. */
async function textOf(file: Inside, size: number, part: number, signal?: AbortSignal): Promise<string | null> {
  signal?.throwIfAborted();
  const from = (part - 1) * PART_BYTES;
  const bytes = await bytesOf(file, from, Math.min(PART_BYTES + 3, size - from));
  const begin = from === 0 ? 0 : continuation(bytes, 0);
  const nominal = Math.min(PART_BYTES, bytes.length);
  const end = nominal + (from + nominal < size ? continuation(bytes, nominal) : 0);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(begin, end));
  } catch (error) {
    if (error instanceof TypeError) return null; // not UTF-8
    throw error;
  }
}

/** How many bytes at `at` belong to a character that began before. */
function continuation(bytes: Uint8Array, at: number): number {
  let count = 0;
  while (count < 3 && ((bytes[at + count] ?? 0) & 0xc0) === 0x80) count++;
  return count;
}

export async function bytesOf(file: Inside, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.handle.read(bytes, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
