import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs';
import { FRONTMATTER_LIMIT } from '../format/frontmatter.ts';
import { isInside } from './sources.ts';

/** The beginning of a file: at least to the end of its frontmatter. */
export interface Head {
  readonly text: string;
  readonly size: number;
}

/** Enough for nearly every frontmatter. */
const FIRST_READ = 4096;
const LONGEST = FRONTMATTER_LIMIT + 256;
const buffer = Buffer.allocUnsafeSlow(LONGEST);
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** Reads to the closing `---`, into one buffer that all scans share. A link must lead into one of `roots`. */
export function readHead(file: string, roots: readonly string[]): Head | { readonly problem: string } {
  let descriptor: number | null = null;
  try {
    descriptor = openInside(file, roots);
    if (descriptor === null) return { problem: 'it is a link that leads out of its skill source' };
    let length = readSync(descriptor, buffer, 0, FIRST_READ, 0);
    if (length < FIRST_READ) return { text: headText(length), size: length };
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) return { problem: 'it is no regular file' };
    if (closingAt(length) === -1) length += readSync(descriptor, buffer, length, LONGEST - length, length);
    return { text: headText(length), size: stats.size };
  } catch (error) {
    return { problem: reasonOf(error) };
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}

/** Opens without waiting for a fifo's writer; null for a link out of `roots`. Throws what the file system says. */
export function openInside(file: string, roots: readonly string[]): number | null {
  try {
    return openSync(file, FLAGS | constants.O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOOP') throw error;
  }
  const real = realpathSync.native(file);
  return roots.some((root) => isInside(real, root)) ? openSync(real, FLAGS | constants.O_NOFOLLOW) : null;
}

/** What went wrong, without the path, which the diagnostic names. */
export function reasonOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'EISDIR') return 'it is a folder';
  return code ?? String(error);
}

/** Decodes only to the end of the frontmatter where that can be told from the bytes. */
function headText(length: number): string {
  const closing = closingAt(length);
  return buffer.toString('utf8', 0, closing === -1 ? length : closing);
}

/** The index after the first line `---` below the first line; -1 when there is none that is exactly that. */
function closingAt(length: number): number {
  const at = buffer.indexOf('\n---', 3, 'latin1');
  if (at === -1 || at + 4 >= length) return -1;
  return buffer[at + 4] === 10 ? at + 5 : -1;
}
