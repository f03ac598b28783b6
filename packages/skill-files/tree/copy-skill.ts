import { createHash } from 'node:crypto';
import { chmod, mkdir, writeFile, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { type Reach, readRange } from '@pith/safe-files';
import { skillJail, unlessRefused } from '../reading/skill-jail.ts';
import { folderTree, SKILL_LIMITS, TREE_LIMITS } from './folder-tree.ts';
import { beginsAsScript } from './program.ts';

/** The files that were read, by their path in the skill. Excludes links, and files with a second name elsewhere. */
export type Digests = ReadonlyMap<string, FileDigest>;

export interface FileDigest {
  readonly sha256: string;
  readonly executable: boolean;
  /** It begins with `#!`. */
  readonly shebang: boolean;
}

/** The skill has more or larger files than may be copied. */
export class SkillTooLarge extends Error {}

/**
 * Copies a skill's real folder, each file as the jail proved it to be inside while it was read, so that what runs later is what was checked.
 * Without `to` it only reads. Returns the digests of what was read; null where the folder is gone.
 */
export async function copySkill(realDirectory: string, to: string | null, signal?: AbortSignal, reach?: Reach): Promise<Digests | null> {
  const jail = skillJail(realDirectory, reach);
  if (jail === null) return null;
  const digests = new Map<string, FileDigest>();
  const { files, folders, more } = await folderTree(realDirectory);
  if (more) throw new SkillTooLarge(`it has more than ${TREE_LIMITS.entries} files, or folders more than ${TREE_LIMITS.depth} deep`);
  if (files.length > SKILL_LIMITS.files) throw new SkillTooLarge(`it has more than ${SKILL_LIMITS.files} files`);
  for (const name of to === null ? [] : folders) await mkdir(path.join(to!, name), { recursive: true });
  let left = SKILL_LIMITS.bytes;
  for (const { path: name } of files) {
    signal?.throwIfAborted();
    const read = await unlessRefused(jail.read(name.split('/'), (file, size) => contentOf(file, size, left)));
    if (read === null) continue; // swapped or gone meanwhile
    const { bytes, executable } = read;
    left -= bytes.length;
    digests.set(name, { sha256: createHash('sha256').update(bytes).digest('hex'), executable, shebang: beginsAsScript(bytes) });
    if (to === null) continue;
    const copy = path.join(to, name);
    await writeFile(copy, bytes, { flag: 'wx' });
    await chmod(copy, executable ? 0o555 : 0o444);
  }
  return digests;
}

async function contentOf(file: FileHandle, size: number, most: number) {
  if (size > most) throw new SkillTooLarge(`its files are larger than ${SKILL_LIMITS.bytes / 1024 / 1024} MB together`);
  return { bytes: await readRange(file, 0, size), executable: ((await file.stat()).mode & 0o111) !== 0 };
}
