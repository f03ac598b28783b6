import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import path from 'node:path';
import { PithError, type Diagnostic } from 'pith';
import { splitFrontmatter } from './format/frontmatter.ts';
import { FILE_LIMIT } from './format/rules.ts';
import { canProveInside, openBelow, openFolder, stillInside, type Inside } from './reading/inside.ts';
import { reasonOf, severalLinks } from './scan/skill-reader.ts';
import type { Skill } from './skill.ts';
import { isInside } from './scan/sources.ts';

export interface SkillBody {
  /** What follows the frontmatter, byte for byte. */
  readonly body: string;
  /** Hex digest of the whole SKILL.md. */
  readonly sha256: string;
  /** Size of the whole SKILL.md. */
  readonly bytes: number;
  /** Why this is not what the file holds now; absent when it is. */
  readonly stale?: string;
}

interface Reading {
  /** The last good body, or null. */
  readonly kept: SkillBody | null;
  /** The finding that says that the skill's file is broken, or null. */
  readonly broken: Diagnostic | null;
  /** Real directories that the file must lie in. */
  readonly roots: readonly string[];
}

/** The live body; the last good one where the file is broken or gone. Rejects `skill_not_found` when there is neither. */
export async function readSkillBody(skill: Skill, { kept, broken, roots }: Reading): Promise<SkillBody> {
  const live = await readLive(skill.file, roots);
  if (typeof live === 'string') {
    if (kept !== null) return { ...kept, stale: `the file cannot be read (${live}); this is the last good version` };
    throw new PithError('skill_not_found', `skill '${skill.id}' cannot be read: ${live}`, {
      where: skill.file,
      cure: 'restore the file, or choose another skill',
    });
  }
  const split = splitFrontmatter(live.text, true);
  const closed = !('code' in split);
  if (broken !== null || !closed) {
    if (kept !== null && kept.sha256 !== live.sha256) return { ...kept, stale: 'the file is broken now; this is the last good version' };
    const stale = 'the file is broken and no earlier version was kept; this is its text as it stands';
    return { body: closed ? live.text.slice(split.bodyOffset) : live.text, sha256: live.sha256, bytes: live.bytes, stale };
  }
  return { body: live.text.slice(split.bodyOffset), sha256: live.sha256, bytes: live.bytes };
}

interface Live {
  readonly text: string;
  readonly sha256: string;
  readonly bytes: number;
}

const MOVED = 'it was moved meanwhile';
/** A file that is replaced while it is read has another version by the next look. */
const LOOKS = 3;

async function readLive(file: string, roots: readonly string[]): Promise<Live | string> {
  for (let look = 1; ; look++) {
    const live = await readOnce(file, roots);
    if (live !== MOVED || look === LOOKS) return live;
  }
}

/** The bytes from one descriptor that was proven to lie inside after it was opened, or why there are none. */
async function readOnce(file: string, roots: readonly string[]): Promise<Live | string> {
  try {
    const real = await realpath(file);
    if (!roots.some((root) => isInside(real, root))) return 'it leads out of its skill source';
    const opened = await openReal(real);
    if (opened === null) return 'it is no regular file, or was moved meanwhile';
    const { handle } = opened;
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) return 'it is no regular file';
      if (stats.size > FILE_LIMIT) return `it is larger than ${FILE_LIMIT} bytes`;
      const foreign = severalLinks(stats.nlink, real);
      if (foreign !== null) return foreign;
      const bytes = await handle.readFile();
      // A link from elsewhere that lost its name here is no longer at the path, and alone only by then.
      const after = await handle.stat();
      if (severalLinks(after.nlink, real) !== null || (canProveInside() && !(await stillInside(opened)))) return MOVED;
      return { text: bytes.toString('utf8'), sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length };
    } finally {
      await handle.close();
    }
  } catch (error) {
    return reasonOf(error) === 'ENOENT' ? 'it is gone' : reasonOf(error);
  }
}

/** Where no descriptor's path can be asked for, that the path was real just before must do. */
async function openReal(real: string): Promise<Inside | null> {
  if (!canProveInside()) return { handle: await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW), path: real };
  const folder = await openFolder(path.dirname(real));
  if (folder === null) return null;
  try {
    return await openBelow(folder, [path.basename(real)]);
  } finally {
    await folder.handle.close();
  }
}
