import { randomUUID, createHash } from 'node:crypto';
import { existsSync, lstatSync, lutimesSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { lutimes } from 'node:fs/promises';
import path from 'node:path';
import { type Timing, KeyedQueue, systemClock } from '@pith/promises';
import type { StateFolder } from '@pith/safe-files';
import { codeOf } from './refused.ts';

/** A process that holds a lock renews its time every second. After five seconds without that the lock is given up. */
const HEARTBEAT_MS = 1000;
const STALE_MS = 5000;
/** Clocks of machines that share a folder differ by less. */
const AHEAD_MS = 60_000;
const WAIT_MS = 30_000;
/** Long enough for the lock of a dead holder to be given up; nothing else of the process goes on meanwhile. */
const WAIT_NOW_MS = 7000;
const LOOK_EVERY_MS = 25;

/** What only one process may do at a time. */
export interface Exclusion {
  /** Made when it is missing. */
  readonly folder: StateFolder;
  /** Of a folder in it that is there while somebody works. */
  readonly name: string;
  /** What is thrown when nobody lets go of the lock at `where` in time. */
  busy(where: string): Error;
}

/** Runs `work` while no other process does the same. What a dead process held is taken over. */
export async function exclusively<T>(exclusion: Exclusion, clock: Timing, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const lock = new FolderLock(exclusion, clock, WAIT_MS);
  while (!lock.take()) await clock.sleep(LOOK_EVERY_MS, signal);
  const end = keepFresh(lock.place, clock);
  try {
    return await work();
  } finally {
    end();
    lock.release();
  }
}

/** The same for work of a moment, such as replacing a small file. The thread waits for it. */
export function exclusivelyNow(exclusion: Exclusion, clock: Pick<Timing, 'now'>, work: () => void): void {
  const lock = new FolderLock(exclusion, clock, WAIT_NOW_MS);
  while (!lock.take()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_EVERY_MS);
  try {
    work();
  } finally {
    lock.release();
  }
}

/** Runs what changes one place one after the other: in this process in the order in which it came, and beside other processes. */
export class OneAtATime {
  readonly #queue = new KeyedQueue();

  /** The folder of the locks; all who change these places must name the same. */
  constructor(private readonly locks: Omit<Exclusion, 'name'>) {}

  run<T>(place: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const name = `${createHash('sha256').update(place).digest('hex').slice(0, 32)}.lock`;
    return this.#queue.run(place, () => exclusively({ ...this.locks, name }, systemClock, work, signal));
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
export function isStale(folder: string, clock: Pick<Timing, 'now'>): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return false;
  const age = clock.now() - found.mtimeMs;
  return age > STALE_MS || age < -AHEAD_MS;
}

/** A folder is made by one process only. */
class FolderLock {
  readonly place: string;
  readonly #busy: Exclusion['busy'];
  readonly #clock: Pick<Timing, 'now'>;
  readonly #until: number;
  /** A file in it that says whose it is: an inode number is used again once its folder is gone. */
  readonly #token = randomUUID();

  constructor({ folder, name, busy }: Exclusion, clock: Pick<Timing, 'now'>, waitMs: number) {
    this.place = path.join(folder.make(), name);
    this.#busy = busy;
    this.#clock = clock;
    this.#until = clock.now() + waitMs;
  }

  /** False while another process has it. */
  take(): boolean {
    do {
      if (this.#make()) return true;
      if (this.#clock.now() > this.#until) throw this.#busy(this.place);
    } while (this.#takeAwayStale());
    return false;
  }

  /** False where another process has it, or has taken it away before it was whole. */
  #make(): boolean {
    try {
      mkdirSync(this.place);
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    }
    try {
      writeFileSync(path.join(this.place, this.#token), '');
      const now = this.#clock.now() / 1000; // a share may have a clock of its own
      lutimesSync(this.place, now, now);
      return true;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return false;
      rmSync(this.place, { recursive: true, force: true }); // such as on a full disk: others need not wait
      throw error;
    }
  }

  release(): void {
    if (existsSync(path.join(this.place, this.#token))) rmSync(this.place, { recursive: true, force: true }); // else it was given up, and is another's
  }

  /** Renaming is done by one only; who renamed what another has just taken gives it back. */
  #takeAwayStale(): boolean {
    if (!isStale(this.place, this.#clock)) return false;
    const aside = `${this.place}.${randomUUID()}`;
    try {
      renameSync(this.place, aside);
      if (isStale(aside, this.#clock)) rmSync(aside, { recursive: true, force: true });
      else renameSync(aside, this.place);
    } catch (error) {
      rmSync(aside, { recursive: true, force: true }); // another process has it by now, where it was not faster
      if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(codeOf(error) ?? '')) throw error;
    }
    return true;
  }
}
