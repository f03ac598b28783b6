import fs from 'node:fs';
import path from 'node:path';
import { systemClock } from '@pith/promises';
import { MANIFEST_FILE, PROMPT_FILES } from './declaration.ts';
import { createHash } from 'node:crypto';
import { notTextAt } from '@pith/plain-text';
import { isInside, kindOf } from '@pith/safe-files';

/** What tells one state of a folder's files from another without reading them. */
export interface FolderStamp {
  /** One line a file: relative path, mtimeNs, ctimeNs, size, inode. Equal strings mean unchanged files. */
  readonly stamps: string;
  /** Relative paths with `/`, sorted. */
  readonly files: readonly string[];
  /** Some file was written so recently that a further write could leave the same stamp. */
  readonly fresh: boolean;
  /** There are more than `MAX_FILES`: the rest was left out, but for what declares something. */
  readonly truncated: boolean;
  /** Links to folders elsewhere, which are not followed. */
  readonly strayLinks: readonly string[];
  /** Pipes, sockets and devices by relative path, and which they are. */
  readonly odd: ReadonlyMap<string, string>;
}

/** An extension or agent is a few files; a folder with more is something else put there by mistake. */
export const MAX_FILES = 5000;

/**
 * The state of all files under `directory` except `node_modules`, hidden ones and its `data` folder. Links are followed, each
 * folder once; those to folders outside `directory` are not: nothing there can be imported. Throws the file system's error when `directory` itself cannot be read.
 */
export function stampFolder(directory: string): FolderStamp {
  const walk: Walk = {
    root: directory,
    lines: [],
    files: [],
    newest: 0n,
    visited: new Set(),
    truncated: false,
    strayLinks: [],
    odd: new Map(),
  };
  visit(walk, directory, '');
  const { lines, files, truncated, strayLinks, odd } = walk;
  return { stamps: lines.join('\n'), files, fresh: isFresh(walk.newest), truncated, strayLinks, odd };
}

/** Coarsest step in which a kernel advances file times, with room to spare. */
const TICK_NS = 20_000_000n;

interface Walk {
  readonly root: string;
  readonly lines: string[];
  readonly files: string[];
  newest: bigint;
  /** Device and inode of the folders below the first: a link may lead back to one of them. */
  readonly visited: Set<string>;
  truncated: boolean;
  readonly strayLinks: string[];
  readonly odd: Map<string, string>;
}

function visit(walk: Walk, directory: string, prefix: string): void {
  for (const name of fs.readdirSync(directory).sort()) {
    if (walk.files.length >= MAX_FILES && !(prefix === '' && DECLARING.has(name))) {
      walk.truncated = true;
      if (prefix === '') continue;
      return;
    }
    if (name.startsWith('.') || name === 'node_modules' || (prefix === '' && name === 'data')) continue;
    const full = directory + path.sep + name;
    const stat = statOrNothing(full);
    if (stat === undefined) continue;
    if (stat.isFile()) {
      if (stat.ctimeNs > walk.newest) walk.newest = stat.ctimeNs;
      walk.files.push(prefix + name);
      walk.lines.push(lineOf(prefix + name, stat));
    } else if (stat.isDirectory()) {
      const identity = `${stat.dev} ${stat.ino}`;
      if (walk.visited.has(identity)) continue;
      walk.visited.add(identity);
      if (leadsAway(walk.root, full)) {
        walk.strayLinks.push(prefix + name);
        walk.lines.push(`${prefix}${name}\tlink`);
        continue;
      }
      visit(walk, full, `${prefix}${name}/`);
    } else {
      walk.odd.set(prefix + name, kindOf(stat));
      walk.lines.push(lineOf(prefix + name, stat));
    }
  }
}

const DECLARING: ReadonlySet<string> = new Set([MANIFEST_FILE, ...PROMPT_FILES]);

function leadsAway(root: string, folder: string): boolean {
  if (!fs.lstatSync(folder).isSymbolicLink()) return false;
  return !isInside(fs.realpathSync(folder), fs.realpathSync(root));
}

/** Nothing: a link to nowhere or to itself, or a file that is gone since the folder was listed. */
function statOrNothing(file: string): fs.BigIntStats | undefined {
  try {
    return fs.statSync(file, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ELOOP') return undefined;
    throw error;
  }
}

function lineOf(relative: string, stat: fs.BigIntStats): string {
  return `${relative}\t${stat.mtimeNs}\t${stat.ctimeNs}\t${stat.size}\t${stat.ino}`;
}

/** File times are set by the machine's clock, whatever clock the kernel was given. */
const fileClock = systemClock;

function isFresh(newest: bigint): boolean {
  return newest + TICK_NS >= BigInt(fileClock.now()) * 1_000_000n;
}

/** Hex SHA-256 over relative paths and bytes of a folder's files, as `stampFolder` lists them. The build uses the same function. */
export function sourceDigest(directory: string): string {
  return digestOf(directory, stampFolder(directory).files);
}

/** Sources are small; more is something else that lies beside them. */
const MAX_BYTES = 64 * 1024 * 1024;

/** As `sourceDigest`, for files that are already known. A file that is gone counts as empty; of one beyond the bytes that are read, size and time count. */
export function digestOf(directory: string, files: readonly string[], maxBytes = MAX_BYTES): string {
  const hash = createHash('sha256');
  let left = maxBytes;
  for (const file of files) {
    const full = path.join(directory, file);
    const stat = fs.statSync(full, { throwIfNoEntry: false });
    if (stat !== undefined && stat.size > left) {
      hash.update(`${file}\0${stat.size}\0${stat.mtimeMs}\0`);
      continue;
    }
    const bytes = readOrNothing(full);
    left -= bytes.length;
    hash.update(`${file}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest('hex');
}

function readOrNothing(file: string): Buffer {
  try {
    return readRegularFile(file, MAX_BYTES);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0); // removed since it was listed; the next stamp differs
    throw error;
  }
}

/** The text of a UTF-8 file without its byte order mark. Throws as `readRegularFile`, and `RangeError` when it is not text. */
export function readTextFile(file: string, maxBytes: number): string {
  const bytes = readRegularFile(file, maxBytes);
  const at = notTextAt(bytes);
  if (at !== null) throw new RangeError(`is not UTF-8 text: byte ${at}`);
  return new TextDecoder().decode(bytes);
}

/** The bytes of a file, never waiting for a pipe or a device. Throws `ENOENT` and the like, and `RangeError` when it is too long or no regular file. */
export function readRegularFile(file: string, maxBytes: number): Buffer {
  const descriptor = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  try {
    const stat = fs.fstatSync(descriptor);
    if (!stat.isFile()) throw new RangeError(`is ${kindOf(stat)}, not a file`);
    if (stat.size > maxBytes) throw new RangeError(`has ${stat.size} bytes, more than the ${maxBytes} that are read`);
    return fs.readFileSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}
