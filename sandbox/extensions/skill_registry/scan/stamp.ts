import { realpathSync, statSync, type BigIntStats } from 'node:fs';
import type { FileStamp } from '../skill.ts';

/** A `FileStamp` as the file system gives it: cheap to compare. */
export interface Stamp {
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly size: bigint;
  readonly inode: bigint;
}

export type Stats = BigIntStats;

const OPTIONS = { bigint: true, throwIfNoEntry: false } as const;
/** How long after a change the file system's clock may give the next one the same time. */
const TICK_MS = 100;

/** What is at `path`, links followed; undefined when there is nothing or it may not be seen. */
export function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, OPTIONS);
  } catch {
    return undefined; // EACCES, ENOTDIR, ELOOP: the reader that follows says why
  }
}

/** The path without links; null where there is nothing or the links form a loop. */
export function realOf(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null; // nothing there, or a loop of links
  }
}

export function stampOf(stats: BigIntStats): Stamp {
  return { mtimeNs: stats.mtimeNs, ctimeNs: stats.ctimeNs, size: stats.size, inode: stats.ino };
}

export function isSame(stamp: Stamp, stats: BigIntStats): boolean {
  return stamp.mtimeNs === stats.mtimeNs && stamp.ctimeNs === stats.ctimeNs && stamp.size === stats.size && stamp.inode === stats.ino;
}

/** False when it changed so soon before `now` that a further change could bear the same times. */
export function isSettled(stamp: Stamp, now: number): boolean {
  return Math.abs(now - Number(stamp.ctimeNs / 1_000_000n)) > TICK_MS;
}

export function toFileStamp({ mtimeNs, ctimeNs, size, inode }: Stamp): FileStamp {
  return { mtimeNs: String(mtimeNs), ctimeNs: String(ctimeNs), size: Number(size), inode: String(inode) };
}

/** One text that names a version of a file. */
export function versionOf({ mtimeNs, ctimeNs, size, inode }: FileStamp): string {
  return `${mtimeNs} ${ctimeNs} ${size} ${inode}`;
}
