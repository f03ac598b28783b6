import { randomUUID } from 'node:crypto';
import { lstat, lutimes, mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Timing } from '@pith/promises';
import type { StateFolder } from '@pith/safe-files';
import { ChangeRefused, codeOf, type Words } from './refused.ts';

/** A process that holds a lock renews its time every second. After five seconds without that the lock is given up. */
const HEARTBEAT_MS = 1000;
const STALE_MS = 5000;
/** Clocks of machines that share a folder differ by less. */
const AHEAD_MS = 60_000;
const WAIT_MS = 30_000;
const LOOK_EVERY_MS = 25;

/** What only one process may do at a time. */
export interface Exclusion {
  /** Made when it is missing. */
  readonly folder: StateFolder;
  /** Of a folder in it that is there while somebody works. */
  readonly name: string;
  /** What is thrown when nobody lets go. */
  readonly busy: Words;
}

/** Runs `work` while no other process does the same. What a dead process held is taken over. Throws `busy` after half a minute. */
export async function exclusively<T>(
  { folder, name, busy }: Exclusion,
  clock: Timing,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const lock = path.join(folder.make(), name);
  const until = clock.now() + WAIT_MS;
  while (!(await take(lock))) {
    if (clock.now() > until) throw new ChangeRefused({ cure: 'try again when it has ended', ...busy }, { where: lock });
    if (!(await takeAwayStale(lock, clock))) await clock.sleep(LOOK_EVERY_MS, signal);
  }
  const own = (await statOf(lock))?.ino;
  const end = keepFresh(lock, clock);
  try {
    return await work();
  } finally {
    end();
    if ((await statOf(lock))?.ino === own) await rm(lock, { recursive: true, force: true }); // else it was given up, and is another's
  }
}

/**
 * Keeps the modification time of a folder recent until the returned function is called. This distinguishes a living process from a dead
 * one in containers, on shares and on any disk, where process numbers and hard links do not.
 */
export function keepFresh(folder: string, clock: Timing): () => void {
  let cancel: (() => void) | null = null;
  let ended = false;
  const beat = async (): Promise<void> => {
    const now = clock.now() / 1000;
    await lutimes(folder, now, now).catch(() => undefined); // it was given up, or the disk is away
    if (!ended) cancel = clock.after(HEARTBEAT_MS, () => void beat());
  };
  void beat();
  return () => {
    ended = true;
    cancel?.();
  };
}

/** Whether nobody keeps it fresh, as the time of its last change says; one far ahead says nothing of a living process. False where there is none. */
export async function isStale(folder: string, clock: Timing): Promise<boolean> {
  const found = await statOf(folder);
  if (found === null) return false;
  const age = clock.now() - found.mtimeMs;
  return age > STALE_MS || age < -AHEAD_MS;
}

/** A folder is made by one only. */
async function take(lock: string): Promise<boolean> {
  try {
    await mkdir(lock);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Renaming is done by one only; who renamed what another has just taken gives it back. */
async function takeAwayStale(lock: string, clock: Timing): Promise<boolean> {
  if (!(await isStale(lock, clock))) return false;
  const aside = `${lock}.${randomUUID()}`;
  try {
    await rename(lock, aside);
    if (await isStale(aside, clock)) await rm(aside, { recursive: true, force: true });
    else await rename(aside, lock);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error; // another process was faster
  }
  return true;
}

function statOf(file: string): Promise<{ readonly ino: number; readonly mtimeMs: number } | null> {
  return lstat(file).catch(() => null); // released meanwhile
}
