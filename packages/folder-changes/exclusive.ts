import { randomUUID, createHash } from 'node:crypto';
import { existsSync, lstatSync, lutimesSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { lutimes } from 'node:fs/promises';
import path from 'node:path';
import { type Timing, KeyedQueue, systemClock } from '@pith/promises';
import { codeOf, type StateFolder } from '@pith/safe-files';

/** The lock's owner renews its time every second. After five seconds without that, others may take it over. */
const HEARTBEAT_MS = 1000;
const STALE_MS = 5000;
/** Clocks of machines that share a folder differ by less than this. */
const AHEAD_MS = 60_000;
const WAIT_MS = 30_000;
/** Long enough for a dead owner's lock to expire. The thread is blocked meanwhile. */
const WAIT_NOW_MS = 7000;
const LOOK_EVERY_MS = 25;

/** A lock between processes. */
export interface Exclusion {
  /** Created when missing. */
  readonly folder: StateFolder;
  /** The name of the lock's folder in it, which exists while somebody works. */
  readonly name: string;
  /** The error when the lock at `where` is not released in time. */
  busy(where: string): Error;
}

/** Runs `work` under the lock, which no two processes have at once. Takes over the lock of a dead process. */
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

/** The same for short synchronous work, such as replacing a small file. Blocks the thread while it waits. */
export function exclusivelyNow(exclusion: Exclusion, clock: Pick<Timing, 'now'>, work: () => void): void {
  const lock = new FolderLock(exclusion, clock, WAIT_NOW_MS);
  while (!lock.take()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_EVERY_MS);
  try {
    work();
  } finally {
    lock.release();
  }
}

/** Runs changes of the same place one after the other: in call order within this process, and under a lock between processes. */
export class OneAtATime {
  readonly #queue = new KeyedQueue();

  /** The folder of the locks; everybody who changes these places must use the same. */
  constructor(private readonly locks: Omit<Exclusion, 'name'>) {}

  run<T>(place: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const name = `${createHash('sha256').update(place).digest('hex').slice(0, 32)}.lock`;
    return this.#queue.run(place, () => exclusively({ ...this.locks, name }, systemClock, work, signal));
  }
}

/**
 * Renews the modification time of a folder until the returned function is called. That tells a living process from a dead one in
 * containers, on shares and on any disk, where process ids and hard links do not.
 */
export function keepFresh(folder: string, clock: Timing): () => void {
  let cancel: (() => void) | null = null;
  let ended = false;
  const beat = async (): Promise<void> => {
    const now = clock.now() / 1000;
    await lutimes(folder, now, now).catch(() => undefined); // another process took it over, or the disk is away
    if (!ended) cancel = clock.after(HEARTBEAT_MS, () => void beat());
  };
  void beat();
  return () => {
    ended = true;
    cancel?.();
  };
}

/** Whether the folder's modification time shows a dead owner; a time far in the future does too. False where there is no folder. */
export function isStale(folder: string, clock: Pick<Timing, 'now'>): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return false;
  const age = clock.now() - found.mtimeMs;
  return age > STALE_MS || age < -AHEAD_MS;
}

/** Only one process can create a folder. */
class FolderLock {
  readonly place: string;
  readonly #busy: Exclusion['busy'];
  readonly #clock: Pick<Timing, 'now'>;
  readonly #until: number;
  /** A file in the folder that names the owner. An inode number would not do: it is reused once the folder is gone. */
  readonly #token = randomUUID();

  constructor({ folder, name, busy }: Exclusion, clock: Pick<Timing, 'now'>, waitMs: number) {
    this.place = path.join(folder.make(), name);
    this.#busy = busy;
    this.#clock = clock;
    this.#until = clock.now() + waitMs;
  }

  /** False while another process owns the lock. */
  take(): boolean {
    do {
      if (this.#make()) return true;
      if (this.#clock.now() > this.#until) throw this.#busy(this.place);
    } while (this.#takeAwayStale());
    return false;
  }

  /** False where another process owns the lock, or removed it before it was complete. */
  #make(): boolean {
    try {
      mkdirSync(this.place);
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    }
    try {
      writeFileSync(path.join(this.place, this.#token), '');
      const now = this.#clock.now() / 1000; // a share may have its own clock
      lutimesSync(this.place, now, now);
      return true;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return false;
      rmSync(this.place, { recursive: true, force: true }); // such as on a full disk: others need not wait for the lock
      throw error;
    }
  }

  release(): void {
    if (existsSync(path.join(this.place, this.#token))) rmSync(this.place, { recursive: true, force: true }); // otherwise another process took the lock over
  }

  /** Only one process can rename the folder. If the renamed lock turns out to be new, it is given back. */
  #takeAwayStale(): boolean {
    if (!isStale(this.place, this.#clock)) return false;
    const aside = `${this.place}.${randomUUID()}`;
    try {
      renameSync(this.place, aside);
      if (isStale(aside, this.#clock)) rmSync(aside, { recursive: true, force: true });
      else renameSync(aside, this.place);
    } catch (error) {
      rmSync(aside, { recursive: true, force: true }); // unless the rename fails because another process has the lock by now
      if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error;
    }
    return true;
  }
}
