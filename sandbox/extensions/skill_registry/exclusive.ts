import { randomUUID } from 'node:crypto';
import { link, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readFileSync } from 'node:fs';
import { type Clock, codeOf, PithError } from 'pith';
import type { StateFolder } from '@pith/safe-files';
import { readRegularFile } from './regular-file.ts';

/** No note of an owner is longer. */
export const LARGEST_OWNER = 64 * 1024;

/** A process, as it can be recognised after its number was given to another. */
export interface Owner {
  readonly pid: number;
  /** When it began, as the system counts; null where that cannot be asked. */
  readonly began: string | null;
}

export function thisProcess(): Owner {
  return { pid: process.pid, began: beginningOf(process.pid) };
}

/** What was written of an owner, or null where it makes no sense. */
export function toOwner(text: string): Owner | null {
  try {
    const { pid, began } = JSON.parse(text) as Partial<Owner>;
    return Number.isSafeInteger(pid) && pid! > 0 ? { pid: pid!, began: typeof began === 'string' ? began : null } : null;
  } catch {
    return null; // cut off while it was written
  }
}

export function isAlive({ pid, began }: Owner): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error, '') === 'ESRCH') return false; // EPERM: it lives, and belongs to somebody else
  }
  const now = beginningOf(pid);
  return began === null || now === null || began === now;
}

function beginningOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'ended' : (fields[19] ?? null);
  } catch {
    return null; // no /proc, or the process is gone
  }
}

const PATIENCE_MS = 30_000;
const LOOK_EVERY_MS = 25;
/** Who takes over from a dead process needs milliseconds for it. */
const TAKEOVER_MS = 10_000;

/** What only one process may do at a time. */
export interface Exclusion {
  /** Absolute; there while somebody works. */
  readonly file: string;
  /** On the same file system; made when it is missing. A killed process may leave a small file in it. */
  readonly staging: StateFolder;
  /** What is thrown when nobody lets go. */
  readonly busy: { readonly code: string; readonly message: string };
}

/** Runs `work` while no other process does the same. What a dead process held is taken over. Throws `busy` after half a minute. */
export async function exclusively<T>(
  { file, staging, busy }: Exclusion,
  clock: Clock,
  work: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const own = await claim(staging);
  try {
    const until = clock.now() + PATIENCE_MS;
    while (!(await take(own, file))) {
      if (clock.now() > until) throw new PithError(busy.code, busy.message, { where: file, cure: 'try again when it has ended' });
      if (!(await releaseDead(file, clock))) await clock.sleep(LOOK_EVERY_MS, signal);
    }
  } finally {
    await rm(own, { force: true });
  }
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}

/** A file that says who this is. Who has just ended may take the folder away with it. */
async function claim(staging: StateFolder): Promise<string> {
  const own = path.join(staging.path, `${process.pid}-${randomUUID()}`);
  for (let attempt = 1; ; attempt++) {
    try {
      staging.make();
      await writeFile(own, JSON.stringify(thisProcess()), { flag: 'wx' });
      return own;
    } catch (error) {
      if (codeOf(error, '') !== 'ENOENT' || attempt === 10) throw error;
    }
  }
}

/** A link is made by one only. */
async function take(own: string, file: string): Promise<boolean> {
  try {
    await link(own, file);
    return true;
  } catch (error) {
    if (codeOf(error, '') === 'EEXIST') return false;
    throw error;
  }
}

/** Removes what a dead process left. Only one may look and remove, so that nobody removes what another has just taken. */
async function releaseDead(file: string, clock: Clock): Promise<boolean> {
  if (!(await isDead(file))) return false;
  const takeover = `${file}.takeover`;
  try {
    await writeFile(takeover, '', { flag: 'wx' });
  } catch (error) {
    if (codeOf(error, '') !== 'EEXIST') throw error;
    const since = await stat(takeover).then(
      ({ mtimeMs }) => mtimeMs,
      () => Infinity,
    );
    if (clock.now() - since > TAKEOVER_MS) await rm(takeover, { force: true });
    return false;
  }
  try {
    if (await isDead(file)) await rm(file, { force: true });
    return true;
  } finally {
    await rm(takeover, { force: true });
  }
}

async function isDead(file: string): Promise<boolean> {
  const text = await readRegularFile(file, LARGEST_OWNER).then(String, () => null);
  if (text === null) return false; // released meanwhile
  const owner = toOwner(text);
  return owner === null || !isAlive(owner);
}
