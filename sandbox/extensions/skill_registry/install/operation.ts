import { randomBytes } from 'node:crypto';
import { rm, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, codeOf, PithError } from 'pith';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import { readRegularFile } from '../regular-file.ts';
import { hasBegun, recover } from './commit.ts';
import { exclusively, isAlive, LARGEST_OWNER, thisProcess, toOwner } from '../exclusive.ts';
import { openTarget, type Target } from './target.ts';

const STAGING = '.staging';
const OWNER = 'owner.json';
/** A staging folder without an owner was made this very moment, or its maker was killed then. */
const UNOWNED = /^([0-9]+)-/;

/** One change of a skills folder: what it makes lies in `directory`, on the same file system, until it is committed. */
export interface Operation {
  readonly target: Target;
  /** The real skills folder. */
  readonly skills: string;
  readonly directory: string;
}

/** Runs `work` with a staging folder of its own, which is gone afterwards. What killed processes left is swept first. */
export async function withOperation<T>(
  target: Target,
  clock: Clock,
  work: (operation: Operation) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  try {
    return await within(target, clock, work, signal);
  } catch (error) {
    throw ofTheDisk(error, target.skills) ?? error;
  }
}

/** What only room on the disk, or leave to write, can cure; null for other errors. A full disk names no file, so the folder is said. */
function ofTheDisk(error: unknown, skills: string): PithError | null {
  const code = codeOf(error, '');
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new PithError('disk_full', `cannot write to ${skills}: the disk that holds it is full`, {
      cause: error,
      cure: 'make room there and try again; what was begun and not confirmed is removed',
    });
  if (code === 'EROFS')
    return new PithError('disk_read_only', `cannot write to ${skills}: the disk that holds it is read-only`, {
      cause: error,
      cure: 'make it writable and try again',
    });
  return null;
}

async function within<T>(target: Target, clock: Clock, work: (operation: Operation) => Promise<T>, signal?: AbortSignal): Promise<T> {
  const skills = await openTarget(target);
  await sweep(target, skills, clock, signal);
  const directory = stateFolder(skills, STAGING, `${process.pid}-${randomBytes(6).toString('hex')}`).make();
  try {
    await writeFile(path.join(directory, OWNER), JSON.stringify(thisProcess()), { flag: 'wx' });
    return await work({ target, skills, directory });
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 3 });
    await rmdir(path.dirname(directory)).catch(() => undefined); // others are at work, or it is gone
  }
}

/** Runs `work` while no other process changes this target. */
export function alone<T>({ skills }: Pick<Operation, 'skills'>, clock: Clock, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const busy = { code: 'install_busy', message: 'another process is installing skills' };
  return exclusively({ file: path.join(skills, '.busy'), staging: stateFolder(skills, STAGING), busy }, clock, work, signal);
}

/** Both, for a change that nobody is asked about in between. */
export function changeAlone<T>(target: Target, clock: Clock, work: (operation: Operation) => Promise<T>, signal?: AbortSignal): Promise<T> {
  return withOperation(target, clock, (operation) => alone(operation, clock, () => work(operation), signal), signal);
}

/**
 * Ends what killed processes began: what was confirmed is completed, what was not is removed. What has begun and is confirmed nowhere we know
 * stays as it is: another data folder may know of it, and a folder that somebody planted leads to nothing.
 */
async function sweep(target: Target, skills: string, clock: Clock, signal?: AbortSignal): Promise<void> {
  const staging = stateFolder(skills, STAGING);
  const dead = await deadOperations(staging);
  if (dead.length === 0) return;
  await alone(
    { skills },
    clock,
    async () => {
      for (const name of await deadOperations(staging)) {
        const operation = { target, skills, directory: path.join(staging.path, name) };
        if ((await recover(operation)) || !(await hasBegun(operation))) staging.remove(name);
      }
    },
    signal,
  );
  await rmdir(staging.path).catch(() => undefined); // others are at work
}

async function deadOperations(staging: StateFolder): Promise<readonly string[]> {
  const dead: string[] = [];
  for (const name of staging.list()) {
    const text = await readRegularFile(path.join(staging.path, name, OWNER), LARGEST_OWNER).then(String, () => '');
    const owner = toOwner(text) ?? { pid: Number(UNOWNED.exec(name)?.[1] ?? 0), began: null };
    if (owner.pid === 0 || !isAlive(owner)) dead.push(name);
  }
  return dead;
}
