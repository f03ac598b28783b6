import { lstat } from 'node:fs/promises';
import { codeOf, messageOf, PithError } from 'pith';
import { readRegularFile } from '@pith/skill-files';
import type { InstalledSkill } from '../contract.ts';

/** By id. */
export type Lock = ReadonlyMap<string, InstalledSkill>;

const VERSION = 1;
/** Far above what thousands of skills need. */
const LARGEST = 16 * 1024 * 1024;

/** Empty where there is none. Throws `lock_damaged` for what cannot be understood, so that nothing is lost by overwriting it. */
export async function readLock(file: string): Promise<Lock> {
  let text: string;
  try {
    // It comes with the project: what a link leads to would be shown, or written over.
    if ((await lstat(file)).isSymbolicLink()) throw new TypeError('a link stands in its place');
    text = (await readRegularFile(file, LARGEST)).toString('utf8');
  } catch (error) {
    if (codeOf(error, '') === 'ENOENT') return new Map();
    throw damaged(file, messageOf(error), error);
  }
  try {
    const value = JSON.parse(text) as { version?: unknown; skills?: unknown };
    if (value.version !== VERSION) throw new TypeError(`its version is ${JSON.stringify(value.version)} and not ${VERSION}`);
    if (typeof value.skills !== 'object' || value.skills === null || Array.isArray(value.skills)) throw new TypeError('it has no skills');
    return new Map(Object.entries(value.skills).map(([id, entry]) => [id, entryOf(id, entry)]));
  } catch (error) {
    throw damaged(file, messageOf(error), error);
  }
}

/** Replaces the file as a whole. Only within `exclusively`. */
export async function writeLock(file: string, lock: Lock): Promise<void> {
  const { default: writeFileAtomic } = await import('write-file-atomic');
  const skills = Object.fromEntries([...lock].sort(([a], [b]) => (a < b ? -1 : 1)));
  await writeFileAtomic(file, `${JSON.stringify({ version: VERSION, skills }, null, 2)}\n`);
}

/** Throws for what is no entry. What its words mean is checked by who acts on them. */
export function entryOf(id: string, value: unknown): InstalledSkill {
  const { origin, commit, digest, installedAt } = (value ?? {}) as Partial<InstalledSkill>;
  if (typeof origin?.kind !== 'string' || typeof origin.location !== 'string' || typeof digest !== 'string')
    throw new TypeError(`its entry '${id}' is incomplete`);
  const { kind, location, ref, path } = origin;
  return {
    origin: {
      kind,
      location,
      ...(typeof ref === 'string' ? { ref } : {}),
      ...(typeof path === 'string' ? { path } : {}),
    },
    commit: typeof commit === 'string' ? commit : null,
    digest,
    installedAt: typeof installedAt === 'string' ? installedAt : '',
  };
}

function damaged(file: string, why: string, cause: unknown): PithError {
  return new PithError('lock_damaged', `the lock file cannot be read: ${why}`, {
    cause,
    where: file,
    cure: 'repair it, restore it from version control, or move it away; skills without an entry count as made by hand',
  });
}
