import fs from 'node:fs';
import path from 'node:path';
import { systemClock } from './system-clock.ts';

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
  const walk: Walk = { lines: [], files: [], newest: 0n, visited: null };
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
  /** Real paths of folders, filled from the first linked folder on. */
  visited: Set<string> | null;
}

function visit(walk: Walk, directory: string, prefix: string): void {
  const entries = fs.readdirSync(directory, { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (walk.files.length >= MAX_FILES) return;
    if (entry.name.startsWith('.') || entry.name === 'node_modules' || (prefix === '' && entry.name === 'data')) continue;
    const full = path.join(directory, entry.name);
    const relative = prefix + entry.name;
    if (entry.isDirectory()) {
      if (walk.visited === null || notYet(walk.visited, full)) visit(walk, full, `${relative}/`);
    } else if (entry.isFile() || entry.isSymbolicLink()) {
      stampEntry(walk, full, relative);
    }
  }
}

function stampEntry(walk: Walk, full: string, relative: string): void {
  const stat = statOrNothing(full);
  if (stat?.isDirectory()) {
    walk.visited ??= new Set([fs.realpathSync(full.slice(0, full.length - relative.length))]);
    if (notYet(walk.visited, full)) visit(walk, full, `${relative}/`);
    return;
  }
  if (!stat?.isFile()) return; // a link to nothing, or gone since the folder was listed
  if (stat.ctimeNs > walk.newest) walk.newest = stat.ctimeNs;
  walk.files.push(relative);
  walk.lines.push(lineOf(relative, stat));
}

function statOrNothing(file: string): fs.BigIntStats | undefined {
  try {
    return fs.statSync(file, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ELOOP') return undefined; // a link to itself
    throw error;
  }
}

function notYet(visited: Set<string>, directory: string): boolean {
  const real = fs.realpathSync(directory);
  if (visited.has(real)) return false;
  visited.add(real);
  return true;
}

function lineOf(relative: string, stat: fs.BigIntStats): string {
  return `${relative}\t${stat.mtimeNs}\t${stat.ctimeNs}\t${stat.size}\t${stat.ino}`;
}

/** File times are set by the machine's clock, whatever clock the kernel was given. */
const fileClock = systemClock();

function isFresh(newest: bigint): boolean {
  return newest + TICK_NS >= BigInt(fileClock.now()) * 1_000_000n;
}
