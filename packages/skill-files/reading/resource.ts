import type { Stats } from 'node:fs';
import { binaryType, digestOf, readPart, readRange } from '@pith/safe-files';
import { type Inside, openBelow, openFolder, type ProveBy, stillInside } from './inside.ts';

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
const PART_BYTES = 1024 * 1024;

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
    size > most ? { kind: 'too_large', path, size } : { kind: 'bytes', path, bytes: await readRange(file.handle, 0, size) },
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
  const head = await readRange(file.handle, 0, Math.min(size, 8192));
  if (!head.includes(0)) {
    if (part > parts) return null;
    signal?.throwIfAborted();
    const text = await readPart(file.handle, size, part, PART_BYTES);
    if (text !== null) return { kind: 'text', path, text, part, parts, size };
  }
  return { kind: 'binary', path, type: binaryType(path, head), size, sha256: await digestOf(file.handle, signal) };
}
