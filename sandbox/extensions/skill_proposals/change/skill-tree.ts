import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readRegularFile } from '@pith/safe-files';
import { folderTree, SKILL_LIMITS } from '@pith/skill-files';

export interface SkillFile {
  readonly bytes: Buffer;
  readonly executable: boolean;
}

/** All of a skill's folder, in memory. */
export interface SkillTree {
  /** By their path with `/`. */
  readonly files: ReadonlyMap<string, SkillFile>;
  /** Folders without a file in them. */
  readonly empty: readonly string[];
}

/** Reads a folder that nobody else writes, such as a kept version. */
export async function readSkillTree(directory: string): Promise<SkillTree> {
  const { files: found, folders } = await folderTree(directory);
  const files = new Map<string, SkillFile>();
  for (const { path: name, executable } of found)
    files.set(name, { bytes: await readRegularFile(path.join(directory, name), SKILL_LIMITS.bytes), executable });
  const isEmpty = (folder: string) => folder !== '' && ![...files.keys(), ...folders].some((name) => name.startsWith(`${folder}/`));
  return { files, empty: folders.filter(isEmpty) };
}

/** `directory` must be new. */
export async function writeSkillTree({ files, empty }: SkillTree, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const folder of empty) await mkdir(path.join(directory, folder), { recursive: true });
  for (const [name, { bytes, executable }] of files) {
    const place = path.join(directory, name);
    await mkdir(path.dirname(place), { recursive: true });
    await writeFile(place, bytes, { flag: 'wx' });
    await chmod(place, executable ? 0o755 : 0o644);
  }
}

export function isSameFile(one: SkillFile | undefined, other: SkillFile | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.executable === other.executable && one.bytes.equals(other.bytes);
}

/** The path of the SKILL.md, whatever its case; null: there is none. */
export function skillFileIn({ files }: SkillTree): string | null {
  const names = [...files.keys()].filter((name) => name.toLowerCase() === 'skill.md');
  return names.sort()[0] ?? null;
}
