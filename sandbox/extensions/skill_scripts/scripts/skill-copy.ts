import path from 'node:path';
import { createHash } from 'node:crypto';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import {
  beginsAsScript,
  folderTree,
  type Inside,
  openBelow,
  openFolder,
  type ProveBy,
  SKILL_LIMITS,
  type SkillScript,
  stillInside,
  TREE_LIMITS,
  bytesOf,
  componentsOf,
  isOwnFile,
} from '@pith/skill-files';
import type { SkillRecord } from 'pith/skill_registry';
import type { ScriptsConfig } from '../config.ts';

/** The files that were read, by their path in the skill. Links, and files with a second name elsewhere, are not among them. */
export type Digests = ReadonlyMap<string, FileDigest>;

export interface FileDigest {
  readonly sha256: string;
  readonly executable: boolean;
  /** Whether it begins with `#!`. */
  readonly shebang: boolean;
}

/** The skill has more files, or larger ones, than are ever copied. */
export class SkillTooLarge extends Error {}

interface Reading {
  readonly digests: Map<string, FileDigest>;
  readonly to: string | null;
  bytes: number;
}

/**
 * Copies a skill's real folder, each file from a descriptor that was proven to lie inside, so that what runs afterwards is what was
 * checked, whatever becomes of the folder. Without \`to\` it only reads. Returns the digests of what was read; null where the folder is gone.
 */
export async function copySkill(
  realDirectory: string,
  to: string | null,
  signal?: AbortSignal,
  proveBy?: ProveBy,
): Promise<Digests | null> {
  const folder = await openFolder(realDirectory, proveBy);
  if (folder === null) return null;
  const reading: Reading = { digests: new Map(), to, bytes: 0 };
  try {
    const tree = await folderTree(realDirectory);
    const { files } = tree;
    if (tree.more) throw new SkillTooLarge(`it has more than ${TREE_LIMITS.entries} files, or folders more than ${TREE_LIMITS.depth} deep`);
    if (files.length > SKILL_LIMITS.files) throw new SkillTooLarge(`it has more than ${SKILL_LIMITS.files} files`);
    for (const name of to === null ? [] : tree.folders) await mkdir(path.join(to!, name), { recursive: true });
    for (const { path: name } of files) {
      signal?.throwIfAborted();
      const file = await openBelow(folder, name.split('/'));
      if (file === null) continue; // swapped or gone meanwhile
      try {
        await take(file, name, reading);
      } finally {
        await file.handle.close();
      }
    }
    return reading.digests;
  } finally {
    await folder.handle.close();
  }
}

async function take(file: Inside, name: string, reading: Reading): Promise<void> {
  const before = await file.handle.stat();
  if (!isOwnFile(before) || !(await stillInside(file))) return;
  if ((reading.bytes += before.size) > SKILL_LIMITS.bytes)
    throw new SkillTooLarge(`its files are larger than ${SKILL_LIMITS.bytes / 1024 / 1024} MB together`);
  const bytes = await bytesOf(file, 0, before.size);
  const after = await file.handle.stat();
  if (!isOwnFile(after) || !(await stillInside(file))) return;
  const executable = (before.mode & 0o111) !== 0;
  reading.digests.set(name, { sha256: createHash('sha256').update(bytes).digest('hex'), executable, shebang: beginsAsScript(bytes) });
  if (reading.to === null) return;
  const copy = path.join(reading.to, name);
  await writeFile(copy, bytes, { flag: 'wx' });
  await chmod(copy, executable ? 0o555 : 0o444);
}

/** One script of a skill, as its bytes are now. */
export interface ScriptFile {
  /** Relative to the skill's folder: `scripts/…`. */
  readonly path: string;
  readonly sha256: string;
  /** How many other files the skill has: the script may load them. */
  readonly others: number;
  /** Of all of them, itself too, and of which can be run. */
  readonly allSha256: string;
  /** What the manifest says of it; null: nothing. */
  readonly declared: SkillScript | null;
}

/** The file that is meant, with or without the leading `scripts/`; null: there is none that may run. */
export function findScript(skill: Pick<SkillRecord, 'scripts'>, given: string, digests: Digests): ScriptFile | null {
  const path = pathOf(given);
  const file = path === null ? undefined : digests.get(path);
  if (path === null || file === undefined) return null;
  const all = [...digests].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, { sha256, executable }]) => [name, sha256, executable]);
  return {
    path,
    sha256: file.sha256,
    others: all.length - 1,
    allSha256: createHash('sha256').update(JSON.stringify(all)).digest('hex'),
    declared: skill.scripts.find((script) => pathOf(script.path) === path) ?? null,
  };
}

/** What a person agrees to, all that decides what runs: this script of this skill with all of its files, what it is given, and what confines it. */
export function subjectOf({ id, source, realDirectory }: SkillPlace, script: ScriptFile, settings: Given): string {
  const { path, allSha256 } = script;
  return createHash('sha256')
    .update(JSON.stringify([id, source, realDirectory, path, allSha256, passedNames(script, settings), settings.confinedBy]))
    .digest('hex');
}

type SkillPlace = Pick<SkillRecord, 'id' | 'source' | 'realDirectory'>;
type Given = Pick<ScriptsConfig['scripts'], 'env'> & { readonly confinedBy: string };

/** The environment that it gets: what the manifest asks for and the settings allow. */
export function passedNames({ declared }: Pick<ScriptFile, 'declared'>, { env }: Pick<Given, 'env'>): readonly string[] {
  return (declared?.env ?? []).filter((name) => env.includes(name));
}

const FOLDER = 'scripts/';

function pathOf(given: string): string | null {
  const parts = componentsOf(given);
  if (parts === null) return null;
  const path = parts.join('/');
  return path.startsWith(FOLDER) ? path : `${FOLDER}${path}`;
}
