import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { canProveInside, openBelow, openFolder, stillInside, type Inside } from '../reading/inside.ts';
import { bytesOf, isOwnFile } from '../reading/resource.ts';

/** SHA-256 of the files that were read, by their path in the skill. Links, and files with a second name elsewhere, are not among them. */
export type Digests = ReadonlyMap<string, string>;

/** As at installation: what is larger is no skill. */
const MOST_FILES = 2000;
const MOST_BYTES = 50 * 1024 * 1024;
const DEEPEST = 16;

/** The skill has more files, or larger ones, than are ever copied. */
export class SkillTooLarge extends Error {}

/** Digests of what stands under `scripts/` of a skill's real folder; null where that cannot be proven. */
export async function digestScripts(realDirectory: string, signal?: AbortSignal): Promise<Digests | null> {
  return readAll(realDirectory, ['scripts'], null, signal);
}

/**
 * Copies a skill's real folder, each file from a descriptor that was proven to lie inside, so that what runs afterwards is what was
 * checked, whatever becomes of the folder. Returns the digests of what was copied; null where nothing can be proven.
 */
export async function copySkill(realDirectory: string, to: string, signal?: AbortSignal): Promise<Digests | null> {
  return readAll(realDirectory, [], to, signal);
}

interface Walk {
  readonly digests: Map<string, string>;
  readonly to: string | null;
  readonly signal: AbortSignal | undefined;
  seen: number;
  bytes: number;
}

async function readAll(realDirectory: string, below: readonly string[], to: string | null, signal?: AbortSignal): Promise<Digests | null> {
  const folder = canProveInside() ? await openFolder(realDirectory) : null;
  if (folder === null) return null;
  const walk: Walk = { digests: new Map(), to, signal, seen: 0, bytes: 0 };
  try {
    const start = below.length === 0 ? folder : await openBelow(folder, below, 'folder');
    if (start === null) return walk.digests; // it has no such folder
    try {
      await visit(start, below.map((part) => `${part}/`).join(''), 1, walk);
    } finally {
      if (start !== folder) await start.handle.close();
    }
    return walk.digests;
  } finally {
    await folder.handle.close();
  }
}

async function visit(folder: Inside, prefix: string, depth: number, walk: Walk): Promise<void> {
  if (depth > DEEPEST) throw new SkillTooLarge(`it has folders more than ${DEEPEST} deep`);
  if (walk.to !== null) await mkdir(path.join(walk.to, prefix), { recursive: true });
  for (const entry of await readdir(`/proc/self/fd/${folder.handle.fd}`, { withFileTypes: true })) {
    walk.signal?.throwIfAborted();
    if (++walk.seen > MOST_FILES) throw new SkillTooLarge(`it has more than ${MOST_FILES} files`);
    if (entry.name === '.git' || !(entry.isFile() || entry.isDirectory())) continue;
    const found = await openBelow(folder, [entry.name], entry.isFile() ? 'file' : 'folder');
    if (found === null) continue; // swapped or gone meanwhile
    try {
      if (entry.isFile()) await take(found, `${prefix}${entry.name}`, walk);
      else await visit(found, `${prefix}${entry.name}/`, depth + 1, walk);
    } finally {
      await found.handle.close();
    }
  }
}

async function take(file: Inside, name: string, walk: Walk): Promise<void> {
  const before = await file.handle.stat();
  if (!isOwnFile(before) || !(await stillInside(file))) return;
  if ((walk.bytes += before.size) > MOST_BYTES)
    throw new SkillTooLarge(`its files are larger than ${MOST_BYTES / 1024 / 1024} MB together`);
  const bytes = await bytesOf(file, 0, before.size);
  const after = await file.handle.stat();
  if (!isOwnFile(after) || !(await stillInside(file))) return;
  walk.digests.set(name, createHash('sha256').update(bytes).digest('hex'));
  if (walk.to === null) return;
  const copy = path.join(walk.to, name);
  await writeFile(copy, bytes, { flag: 'wx' });
  await chmod(copy, (before.mode & 0o111) === 0 ? 0o444 : 0o555);
}
