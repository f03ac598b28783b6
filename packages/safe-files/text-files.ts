import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';

/** The size in bytes of one part of a long text. */
export const PART_BYTES = 64 * 1024;

/** null when the bytes are not UTF-8 text. */
export function decodeText(bytes: Uint8Array, isCut = false): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch {
    return null; // the decoder throws for bytes that are not UTF-8
  }
}

/** Part `part` of a text, from 1; parts are split between characters. null when the part is not text. */
export async function readPart(handle: FileHandle, size: number, part: number, most = PART_BYTES): Promise<string | null> {
  const start = (part - 1) * most;
  const bytes = await readRange(handle, start, Math.min(most + 3, size - start));
  let from = 0;
  if (part > 1) while (from < 3 && isContinuation(bytes[from])) from += 1;
  let to = Math.min(most, bytes.length);
  while (to < bytes.length && isContinuation(bytes[to])) to += 1;
  return decodeText(bytes.subarray(from, to));
}

export async function readRange(handle: FileHandle, start: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(Math.max(0, length));
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, start + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** The hex digest of the whole file. */
export async function digestOf(handle: FileHandle, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(256 * 1024);
  for (let position = 0; ;) {
    signal?.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) return hash.digest('hex');
    hash.update(buffer.subarray(0, bytesRead));
    position += bytesRead;
  }
}

/** A binary file's type by its name, else by its first bytes; tells the model what it is. */
export function binaryType(name: string, head: Uint8Array = new Uint8Array()): string {
  const start = Buffer.from(head.subarray(0, 12)).toString('latin1');
  const magic = MAGIC.find(([bytes]) => start.startsWith(bytes))?.[1] ?? 'application/octet-stream';
  return BINARY_TYPES.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase()) ?? magic;
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

const BINARY_TYPES: ReadonlyMap<string, string> = new Map([
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
  ['db', 'application/vnd.sqlite3'],
  ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
]);

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
