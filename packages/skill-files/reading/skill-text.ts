import { createHash } from 'node:crypto';
import { lstat, realpath, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { isInside, NO_REGULAR_FILE, type Reach } from '@pith/safe-files';
import { FILE_LIMIT, SEVERAL_LINKS } from '../format/rules.ts';
import { MOVED, reasonOf } from './reason.ts';
import { isOfPackage, skillJail } from './skill-jail.ts';

/** Why a file that a scan found is read no more. */
export const GONE = 'it is gone';

/** The content of a SKILL.md. */
export interface SkillFileText {
  readonly text: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** The text of a skill file in one of `roots`, which the jail proved to be there while it was read; or why there is none. */
export async function readSkillFile(file: string, roots: readonly string[], reach?: Reach): Promise<SkillFileText | string> {
  try {
    const real = await realpath(file);
    if (!roots.some((root) => isInside(real, root))) return 'it leads out of its skill source';
    const stats = await lstat(real);
    if (!stats.isFile()) return NO_REGULAR_FILE;
    const foreign = severalLinks(stats.nlink, real);
    if (foreign !== null) return foreign;
    const folder = skillJail(path.dirname(real), reach);
    return folder === null ? MOVED : await folder.read([path.basename(real)], textOf, { linked: isOfPackage(real) });
  } catch (error) {
    return reasonOf(error) === 'ENOENT' ? GONE : reasonOf(error);
  }
}

async function textOf(handle: FileHandle, size: number): Promise<SkillFileText | string> {
  if (size > FILE_LIMIT) return `it is larger than ${FILE_LIMIT} bytes`;
  const bytes = await handle.readFile();
  return { text: bytes.toString('utf8'), sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length };
}

/** Why a skill's file with this many links may be another's; null: it is the skill's own. */
export function severalLinks(links: number | bigint, real: string): string | null {
  if (links <= 1 || isOfPackage(real)) return null;
  return SEVERAL_LINKS;
}
