import { constants, copyFileSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { codeOf, PithError } from '../contract/index.ts';

const MOST_TRIES = 250;
const UNOWNED_TRIES = 200;
const TRY_MS = 20;

/** Runs while no other process does, so that no answer is lost. The lock of a process that has died is taken over; a busy one is waited for, five seconds. */
export function withFileLock(lock: string, run: () => void): void {
  for (let tries = 0; !isTaken(lock); tries += 1) {
    // Nobody needs so long to write who it is: its process died before it could.
    if (tries === UNOWNED_TRIES && ownerOf(lock) === null) takeAway(lock, (owner) => owner === null);
    if (tries === MOST_TRIES)
      throw new PithError('trust_failed', 'another Pith has the lock', {
        where: lock,
        cure: 'try again; if no Pith runs, remove that file',
      });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TRY_MS);
  }
  try {
    run();
  } finally {
    rmSync(lock, { force: true });
  }
}

function isTaken(lock: string): boolean {
  const draft = `${lock}.${randomUUID()}`;
  try {
    writeFileSync(draft, `${process.pid}`, { flag: 'wx', mode: 0o600 });
    placeOnce(draft, lock);
    return true;
  } catch (error) {
    if (codeOf(error, '') !== 'EEXIST') throw error;
    if (isDead(ownerOf(lock))) takeAway(lock, isDead);
    return false;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** With its owner in it from the first moment, where the disk has hard links. */
function placeOnce(draft: string, lock: string): void {
  try {
    linkSync(draft, lock);
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(codeOf(error, ''))) throw error;
    copyFileSync(draft, lock, constants.COPYFILE_EXCL);
  }
}

/** null while it is being written, or when it is no lock of ours. */
function ownerOf(lock: string): number | null {
  try {
    const owner = Number(readFileSync(lock, 'utf8'));
    return Number.isSafeInteger(owner) && owner > 0 ? owner : null;
  } catch {
    return null; // it was given back meanwhile
  }
}

function isDead(owner: number | null): boolean {
  if (owner === null) return false;
  try {
    process.kill(owner, 0);
    return false;
  } catch (error) {
    return codeOf(error, '') === 'ESRCH';
  }
}

/** Somebody else may have taken it over in between: what is not `abandoned` is put back. */
function takeAway(lock: string, abandoned: (owner: number | null) => boolean): void {
  const aside = `${lock}.${randomUUID()}`;
  try {
    renameSync(lock, aside);
    if (abandoned(ownerOf(aside))) rmSync(aside, { force: true });
    else renameSync(aside, lock);
  } catch (error) {
    if (codeOf(error, '') !== 'ENOENT') throw error; // another process was faster
  }
}
