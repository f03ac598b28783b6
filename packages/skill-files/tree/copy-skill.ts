import { createHash } from 'node:crypto';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readRange } from '@pith/safe-files';
import { type Inside, openBelow, openFolder, type ProveBy, stillInside } from '../reading/inside.ts';
import { isOwnFile } from '../reading/resource.ts';
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

interface Reading {
  readonly digests: Map<string, FileDigest>;
  readonly to: string | null;
  bytes: number;
}

/**
 * Copies a skill's real folder, each file from a descriptor that was verified to be inside, so that what runs later is what was checked.
 * Without `to` it only reads. Returns the digests of what was read; null where the folder is gone.
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
  const bytes = await readRange(file.handle, 0, before.size);
  const after = await file.handle.stat();
  if (!isOwnFile(after) || !(await stillInside(file))) return;
  const executable = (before.mode & 0o111) !== 0;
  reading.digests.set(name, { sha256: createHash('sha256').update(bytes).digest('hex'), executable, shebang: beginsAsScript(bytes) });
  if (reading.to === null) return;
  const copy = path.join(reading.to, name);
  await writeFile(copy, bytes, { flag: 'wx' });
  await chmod(copy, executable ? 0o555 : 0o444);
}
