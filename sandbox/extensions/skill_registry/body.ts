import { createHash } from 'node:crypto';
import { open, realpath } from 'node:fs/promises';
import { constants } from 'node:fs';
import { PithError, type Diagnostic } from 'pith';
import { splitFrontmatter } from './format/frontmatter.ts';
import { FILE_LIMIT } from './format/rules.ts';
import { reasonOf } from './skill-head.ts';
import type { FileStamp, Skill } from './skill.ts';
import { isInside } from './sources.ts';

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

/** The last good bodies, newest kept longest, within a bound: what stays readable when a file breaks or goes. */
export class BodyStore {
  private readonly bodies = new Map<string, SkillBody>();
  private readonly versions = new Map<string, string>();
  private held = 0;
  private readonly limit: number;

  constructor(limit = 16 * 1024 * 1024) {
    this.limit = limit;
  }

  get(file: string): SkillBody | null {
    return this.bodies.get(file) ?? null;
  }

  /** Nine tenths in use: what is read in advance stops here. */
  get isFull(): boolean {
    return this.held > this.limit * 0.9;
  }

  /** Whether the body of exactly this version is kept. */
  holds(file: string, stamp: FileStamp): boolean {
    return this.versions.get(file) === keyOf(stamp);
  }

  keep(file: string, body: SkillBody, stamp: FileStamp | null = null): void {
    if (stamp === null) this.versions.delete(file);
    else this.versions.set(file, keyOf(stamp));
    const before = this.bodies.get(file);
    if (before?.sha256 === body.sha256) return;
    this.held += body.bytes - (before?.bytes ?? 0);
    this.bodies.delete(file);
    this.bodies.set(file, body);
    for (const [oldest, { bytes }] of this.bodies) {
      if (this.held <= this.limit) break;
      this.bodies.delete(oldest);
      this.versions.delete(oldest);
      this.held -= bytes;
    }
  }
}

function keyOf({ mtimeNs, ctimeNs, size, inode }: FileStamp): string {
  return `${mtimeNs} ${ctimeNs} ${size} ${inode}`;
}

interface Reading {
  readonly bodies: BodyStore;
  /** The finding that says that the skill's file is broken, or null. */
  readonly broken: Diagnostic | null;
  /** Directories that the file may really lie in. */
  readonly roots: readonly string[];
}

/** The live body; the last good one where the file is broken or gone. Rejects `skill_not_found` when there is neither. */
export async function readSkillBody(skill: Skill, { bodies, broken, roots }: Reading): Promise<SkillBody> {
  const kept = bodies.get(skill.file);
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
  const body: SkillBody = { body: live.text.slice(split.bodyOffset), sha256: live.sha256, bytes: live.bytes };
  bodies.keep(skill.file, body, skill.stamp);
  return body;
}

/** The bytes from one descriptor that was checked after opening, or why there are none. */
async function readLive(file: string, roots: readonly string[]): Promise<{ text: string; sha256: string; bytes: number } | string> {
  try {
    const real = await realpath(file);
    const allowed = await Promise.all(roots.map((root) => realpath(root).catch(() => root)));
    if (!allowed.some((root) => isInside(real, root))) return 'it leads out of its skill source';
    const handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      const opened = await realpath(`/proc/self/fd/${handle.fd}`).catch(() => real); // where there is no /proc, the check before stands
      if (!allowed.some((root) => isInside(opened, root))) return 'it leads out of its skill source';
      const stats = await handle.stat();
      if (!stats.isFile()) return 'it is no regular file';
      if (stats.size > FILE_LIMIT) return `it is larger than ${FILE_LIMIT} bytes`;
      const bytes = await handle.readFile();
      return { text: bytes.toString('utf8'), sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length };
    } finally {
      await handle.close();
    }
  } catch (error) {
    return reasonOf(error) === 'ENOENT' ? 'it is gone' : reasonOf(error);
  }
}
