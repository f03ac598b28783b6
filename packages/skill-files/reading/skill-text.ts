import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { isInside } from '@pith/safe-files';
import { FILE_LIMIT, SEVERAL_LINKS } from '../format/rules.ts';
import { type Inside, isOfPackage, openBelow, openFolder, type ProveBy, stillInside } from './inside.ts';
import { reasonOf } from './reason.ts';

/** The content of a SKILL.md. */
export interface SkillFileText {
  readonly text: string;
  readonly sha256: string;
  readonly bytes: number;
}

const MOVED = 'it was moved meanwhile';
/** A file that is replaced while it is read has another version at the next attempt. */
const LOOKS = 3;

/** The text of a skill file in one of `roots`, read from one descriptor whose place was verified after opening; or why there is none. */
export async function readSkillFile(file: string, roots: readonly string[], proveBy?: ProveBy): Promise<SkillFileText | string> {
  for (let look = 1; ; look++) {
    const live = await readOnce(file, roots, proveBy);
    if (live !== MOVED || look === LOOKS) return live;
  }
}

async function readOnce(file: string, roots: readonly string[], proveBy?: ProveBy): Promise<SkillFileText | string> {
  try {
    const real = await realpath(file);
    if (!roots.some((root) => isInside(real, root))) return 'it leads out of its skill source';
    const opened = await openReal(real, proveBy);
    if (opened === null) return 'it is not a regular file, or was moved meanwhile';
    const { handle } = opened;
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) return 'it is not a regular file';
      if (stats.size > FILE_LIMIT) return `it is larger than ${FILE_LIMIT} bytes`;
      const foreign = severalLinks(stats.nlink, real);
      if (foreign !== null) return foreign;
      const bytes = await handle.readFile();
      // A link from elsewhere whose name here was removed is no longer at the path, and only then has a single link.
      const after = await handle.stat();
      if (severalLinks(after.nlink, real) !== null || !(await stillInside(opened))) return MOVED;
      return { text: bytes.toString('utf8'), sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length };
    } finally {
      await handle.close();
    }
  } catch (error) {
    return reasonOf(error) === 'ENOENT' ? 'it is gone' : reasonOf(error);
  }
}

async function openReal(real: string, proveBy?: ProveBy): Promise<Inside | null> {
  const folder = await openFolder(path.dirname(real), proveBy);
  if (folder === null) return null;
  try {
    return await openBelow(folder, [path.basename(real)]);
  } finally {
    await folder.handle.close();
  }
}

/** Why a skill's file with this many links may be another's; null: it is the skill's own. */
export function severalLinks(links: number | bigint, real: string): string | null {
  if (links <= 1 || isOfPackage(real)) return null;
  return SEVERAL_LINKS;
}
