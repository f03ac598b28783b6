import { realpathSync, statSync, type BigIntStats } from 'node:fs';

/** Identifies a version of a file without reading it: its times in nanoseconds, size and inode, as one text. */
export type Stamp = string;

export type Stats = BigIntStats;

const OPTIONS = { bigint: true, throwIfNoEntry: false } as const;
/** Within this time after a change, the file system's clock may give the next change the same time. */
const TICK_MS = 100;

/** The stats of `path`, links followed; undefined when nothing is there or it may not be read. */
export function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, OPTIONS);
  } catch {
    return undefined; // EACCES, ENOTDIR, ELOOP: the reader that follows reports why
  }
}

/** The path with links resolved; null where nothing is there or the links form a loop. */
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

/** False when it changed so shortly before `now` that another change could have the same times. */
export function isSettled(stamp: Stamp, now: number): boolean {
  return Math.abs(now - Number(stamp.split(' ')[1]) / 1e6) > TICK_MS;
}

/** The file's size in bytes. */
export function sizeOf(stamp: Stamp): number {
  return Number(stamp.split(' ')[2]);
}
