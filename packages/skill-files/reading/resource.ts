import type { FileHandle } from 'node:fs/promises';
import { binaryType, digestOf, isCaseOfSkill, type Reach, readPart, readRange } from '@pith/safe-files';
import { skillJail, unlessRefused } from './skill-jail.ts';

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
  readonly reach?: Reach;
}

/**
 * One file of a skill's real folder for an agent, none of its cases: a regular file with one name, which the jail proved to be inside. A leading `references/` may be
 * missing or superfluous where only one of both files exists.
 */
export async function readResource(realDirectory: string, given: string, { part = 1, signal, reach }: HowToRead = {}): Promise<Resource> {
  const use: Use<Resource> = async (file, path, size) => (isCaseOfSkill(path) ? null : contentOf(file, path, size, { part, signal }));
  return withResource(realDirectory, given, use, reach);
}

/** All bytes of one file, with the checks of `readResource`. */
export async function resourceBytes(realDirectory: string, given: string, most: number): Promise<ResourceBytes> {
  return withResource<ResourceBytes>(realDirectory, given, async (file, path, size) =>
    size > most ? { kind: 'too_large', path, size } : { kind: 'bytes', path, bytes: await readRange(file, 0, size) },
  );
}

type Use<T> = (file: FileHandle, path: string, size: number) => Promise<T | null>;

async function withResource<T>(realDirectory: string, given: string, use: Use<T>, reach?: Reach): Promise<T | NoResource> {
  const parts = componentsOf(given);
  const jail = parts === null ? null : skillJail(realDirectory, reach);
  if (parts === null || jail === null) return { kind: 'refused' };
  for (const candidate of [parts, parts[0] === 'references' ? parts.slice(1) : ['references', ...parts]]) {
    const reading = jail.read(candidate, (file, size) => use(file, candidate.join('/'), size));
    const resource = await unlessRefused(reading);
    if (resource !== null) return resource;
  }
  return { kind: 'refused' };
}

/** The components of a relative path that leads below; null for every other path. Nothing is decoded. */
export function componentsOf(given: string): readonly string[] | null {
  const trimmed = given.startsWith('./') ? given.slice(2) : given;
  if (trimmed === '' || trimmed.length > 4096 || trimmed.includes('\0') || trimmed.includes('\\')) return null;
  const parts = trimmed.split('/');
  return parts.some((part) => part === '' || part === '.' || part === '..' || Buffer.byteLength(part) > 255) ? null : parts;
}

async function contentOf(
  file: FileHandle,
  path: string,
  size: number,
  { part, signal }: { readonly part: number; readonly signal: AbortSignal | undefined },
): Promise<Resource | null> {
  const parts = Math.max(1, Math.ceil(size / PART_BYTES));
  const head = await readRange(file, 0, Math.min(size, 8192));
  if (!head.includes(0)) {
    if (part > parts) return null;
    signal?.throwIfAborted();
    const text = await readPart(file, size, part, PART_BYTES);
    if (text !== null) return { kind: 'text', path, text, part, parts, size };
  }
  return { kind: 'binary', path, type: binaryType(path, head), size, sha256: await digestOf(file, signal) };
}
