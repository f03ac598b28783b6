import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, type Clock } from 'pith';
import { readRegularFile } from '../scan/regular-file.ts';
import { recover } from './commit.ts';
import { exclusively } from '../exclusive.ts';
import { isAlive, LARGEST_OWNER, thisProcess, toOwner } from '../owner.ts';
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
  const skills = await openTarget(target);
  await sweep(target, skills, clock, signal);
  const directory = path.join(skills, STAGING, `${process.pid}-${randomBytes(6).toString('hex')}`);
  await mkdir(directory, { recursive: true });
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
  return exclusively({ file: path.join(skills, '.busy'), staging: path.join(skills, STAGING), busy }, clock, work, signal);
}

/** Ends what killed processes began: what was confirmed is completed, the rest is removed. */
async function sweep(target: Target, skills: string, clock: Clock, signal?: AbortSignal): Promise<void> {
  const staging = path.join(skills, STAGING);
  const dead = await deadOperations(staging);
  if (dead.length === 0) return;
  await alone(
    { skills },
    clock,
    async () => {
      for (const name of await deadOperations(staging)) {
        const directory = path.join(staging, name);
        await recover({ target, skills, directory });
        await rm(directory, { recursive: true, force: true, maxRetries: 3 });
      }
    },
    signal,
  );
  await rmdir(staging).catch(() => undefined); // others are at work
}

async function deadOperations(staging: string): Promise<readonly string[]> {
  let names: readonly string[];
  try {
    names = await readdir(staging);
  } catch (error) {
    if (codeOf(error, '') === 'ENOENT') return [];
    throw error;
  }
  const dead: string[] = [];
  for (const name of names) {
    const text = await readRegularFile(path.join(staging, name, OWNER), LARGEST_OWNER).then(String, () => '');
    const owner = toOwner(text) ?? { pid: Number(UNOWNED.exec(name)?.[1] ?? 0), began: null };
    if (owner.pid === 0 || !isAlive(owner)) dead.push(name);
  }
  return dead;
}
