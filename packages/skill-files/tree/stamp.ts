import { realpathSync, statSync, type BigIntStats } from 'node:fs';

/** What identifies one version of a file without reading it: its times in nanoseconds, size and inode, as one text. */
export type Stamp = string;

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

export function stampOf({ mtimeNs, ctimeNs, size, ino }: BigIntStats): Stamp {
  return `${mtimeNs} ${ctimeNs} ${size} ${ino}`;
}

export function isSame(stamp: Stamp, stats: BigIntStats): boolean {
  return stamp === stampOf(stats);
}

/** False when it changed so soon before `now` that a further change could bear the same times. */
export function isSettled(stamp: Stamp, now: number): boolean {
  return Math.abs(now - Number(stamp.split(' ')[1]) / 1e6) > TICK_MS;
}

/** Of the file, in bytes. */
export function sizeOf(stamp: Stamp): number {
  return Number(stamp.split(' ')[2]);
}
