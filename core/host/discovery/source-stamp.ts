import fs from 'node:fs';
import path from 'node:path';
import { systemClock } from '../system-clock.ts';

/** What tells one state of a folder's files from another without reading them. */
export interface FolderStamp {
  /** One line a file: relative path, mtimeNs, ctimeNs, size, inode. Equal strings mean unchanged files. */
  readonly stamps: string;
  /** Relative paths with `/`, sorted. */
  readonly files: readonly string[];
  /** Some file was written so recently that a further write could leave the same stamp. */
  readonly fresh: boolean;
  /** More than `MAX_FILES`: the rest was left out. */
  readonly truncated: boolean;
}

/** An extension or agent is a few files; a folder with more is something else put there by mistake. */
export const MAX_FILES = 5000;

/**
 * The state of all files under `directory` except `node_modules`, hidden ones and its `data` folder. Links are followed, each
 * folder once. Throws the file system's error when `directory` itself cannot be read.
 */
export function stampFolder(directory: string): FolderStamp {
  const walk: Walk = { lines: [], files: [], newest: 0n, visited: new Set() };
  visit(walk, directory, '');
  return { stamps: walk.lines.join('\n'), files: walk.files, fresh: isFresh(walk.newest), truncated: walk.files.length >= MAX_FILES };
}

/** The state of one file; null when there is none. Throws other errors of the file system. */
export function stampFile(file: string): { readonly stamp: string; readonly fresh: boolean } | null {
  const stat = fs.statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? null : { stamp: lineOf('', stat), fresh: isFresh(stat.ctimeNs) };
}

/** Coarsest step in which a kernel advances file times, with room to spare. */
const TICK_NS = 20_000_000n;

interface Walk {
  readonly lines: string[];
  readonly files: string[];
  newest: bigint;
  /** Device and inode of the folders below the first: a link may lead back to one of them. */
  readonly visited: Set<string>;
}

function visit(walk: Walk, directory: string, prefix: string): void {
  for (const name of fs.readdirSync(directory).sort()) {
    if (walk.files.length >= MAX_FILES) return;
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
      visit(walk, full, `${prefix}${name}/`);
    }
  }
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
const fileClock = systemClock();

function isFresh(newest: bigint): boolean {
  return newest + TICK_NS >= BigInt(fileClock.now()) * 1_000_000n;
}
