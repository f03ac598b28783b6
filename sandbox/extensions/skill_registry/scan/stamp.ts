import { statSync, type BigIntStats } from 'node:fs';
import type { FileState, SeenFile } from 'pith';
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

export function stampOf(stats: BigIntStats): Stamp {
  return { mtimeNs: stats.mtimeNs, ctimeNs: stats.ctimeNs, size: stats.size, inode: stats.ino };
}

export function isSame(stamp: Stamp, stats: BigIntStats): boolean {
  return stamp.mtimeNs === stats.mtimeNs && stamp.ctimeNs === stats.ctimeNs && stamp.size === stats.size && stamp.inode === stats.ino;
}

/** False when it changed so shortly before `now` that a further change could bear the same times. */
export function isSettled(stamp: Stamp, now: number): boolean {
  return Math.abs(now - Number(stamp.ctimeNs / 1_000_000n)) > TICK_MS;
}

export function toFileStamp({ mtimeNs, ctimeNs, size, inode }: Stamp): FileStamp {
  return { mtimeNs: String(mtimeNs), ctimeNs: String(ctimeNs), size: Number(size), inode: String(inode) };
}

/** As `fs.Stats` has it: to the last bit what Node makes of the same times. */
export function toState({ mtimeNs, ctimeNs, size, inode }: Stamp): FileState {
  return { mtimeMs: toMilliseconds(mtimeNs), ctimeMs: toMilliseconds(ctimeNs), size: Number(size), ino: Number(inode) };
}

/** What is at `path` now, links followed. */
export function lookAt(path: string): SeenFile {
  const stats = statOf(path);
  return { path, state: stats === undefined ? null : toState(stampOf(stats)) };
}

function toMilliseconds(nanoseconds: bigint): number {
  const seconds = nanoseconds / SECOND;
  return Number(seconds) * 1000 + Number(nanoseconds - seconds * SECOND) / 1e6;
}

const SECOND = 1_000_000_000n;

/** One text that names a version of a file. */
export function versionOf({ mtimeNs, ctimeNs, size, inode }: FileStamp): string {
  return `${mtimeNs} ${ctimeNs} ${size} ${inode}`;
}
