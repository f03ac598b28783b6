import { type Diagnostic, type Logger, PithError } from 'pith';
import { printableLine } from '@pith/plain-text';
import type { Reach } from '@pith/safe-files';
import { COPY_IT, GONE, readSkillFile, realOf, SEVERAL_LINKS, type SkillBody, splitFrontmatter } from '@pith/skill-files';
import type { Source } from './scan/sources.ts';
import type { Skill } from './skill.ts';

export type { SkillBody };

interface Reading {
  /** The last good body, or null. */
  readonly kept: SkillBody | null;
  /** The finding that says that the skill's file is broken, or null. */
  readonly broken: Diagnostic | null;
  /** Real directories that the file must lie in. */
  readonly roots: readonly string[];
  /** Else what the system can. */
  readonly reach?: Reach;
}

/** The live body; the last good one where the file is broken or gone. Rejects `skill_not_found` when there is neither. */
export async function readSkillBody(skill: Skill, { kept, broken, roots, reach }: Reading): Promise<SkillBody> {
  const live = await readSkillFile(skill.file, roots, reach);
  if (typeof live === 'string') {
    if (kept !== null) return { ...kept, stale: `the file cannot be read (${live}); this is the last good version` };
    const what = live === GONE ? 'was not found; it may have been removed' : `cannot be read: ${live}`;
    throw new PithError('skill_not_found', `skill '${printableLine(skill.id)}' ${what}`, {
      where: skill.file,
      cure: live === SEVERAL_LINKS ? COPY_IT : 'restore the file, or choose another skill',
    });
  }
  const split = splitFrontmatter(live.text, true);
  const closed = !('code' in split);
  if (broken !== null || !closed) {
    if (kept !== null && kept.sha256 !== live.sha256) return { ...kept, stale: 'the file is broken now; this is the last good version' };
    const stale = 'the file is broken and no earlier version was kept; this is its text as it is';
    return { body: closed ? live.text.slice(split.bodyOffset) : live.text, sha256: live.sha256, bytes: live.bytes, stale };
  }
  return { body: live.text.slice(split.bodyOffset), sha256: live.sha256, bytes: live.bytes };
}

export interface BodiesOptions {
  readonly sources: readonly Source[];
  /** Absolute paths beside the sources in which a file may really lie. */
  readonly trustedLinks: readonly string[];
  readonly logger: Logger;
}

/** Reads bodies as they are on disk, and keeps the last good ones for the time when a file breaks or goes. */
export class Bodies {
  private readonly store = new BodyStore();
  /** Real directories of each source, links followed. */
  private readonly roots = new Map<string, readonly string[]>();

  constructor(private readonly options: BodiesOptions) {}

  /** The last good one that is kept, or null. */
  kept(file: string): SkillBody | null {
    return this.store.get(file);
  }

  keep(file: string, body: SkillBody): void {
    this.store.keep(file, body);
  }

  /** For who asked, and who keeps it once they know that it may be used. Rejects `skill_not_found`. */
  read(skill: Skill): Promise<SkillBody> {
    return readSkillBody(skill, { kept: this.store.get(skill.file), broken: brokenBy(skill), roots: this.rootsOf(skill) });
  }

  /** For nobody yet: kept while there is room. null where it cannot be read now. */
  async readAhead(skill: Skill): Promise<SkillBody | null> {
    try {
      const body = await this.read(skill);
      if (body.stale === undefined) this.store.keepIfRoom(skill.file, body);
      return body;
    } catch (error) {
      this.options.logger.debug('body not read', { file: skill.file, error: String(error) });
      return null;
    }
  }

  /** Where the sources really are is looked up again. */
  forgetRoots(): void {
    this.roots.clear();
  }

  private rootsOf({ source, realDirectory }: Skill): readonly string[] {
    let roots = this.roots.get(source);
    if (roots === undefined) {
      const own = this.options.sources.filter(({ label }) => label === source).map(({ directory }) => directory);
      if (own.length === 0) return [realDirectory]; // a kept version
      roots = [...own, ...this.options.trustedLinks].map((directory) => realOf(directory) ?? directory);
      this.roots.set(source, roots);
    }
    return roots;
  }
}

function brokenBy({ diagnostics }: Skill): Diagnostic | null {
  return diagnostics.find(({ code }) => code === 'last_good_used') ?? null;
}

/** The last good bodies, newest kept longest, within a bound: what stays readable when a file breaks or goes. */
class BodyStore {
  private readonly bodies = new Map<string, SkillBody>();
  private held = 0;
  private readonly limit = 8 * 1024 * 1024;

  get(file: string): SkillBody | null {
    return this.bodies.get(file) ?? null;
  }

  /** Keeps a body that nobody has asked for: it drives out none that was. */
  keepIfRoom(file: string, body: SkillBody): void {
    if (this.bodies.has(file) || this.held + body.bytes <= this.limit * 0.9) this.keep(file, body);
  }

  keep(file: string, body: SkillBody): void {
    const before = this.bodies.get(file);
    this.held += body.bytes - (before?.bytes ?? 0);
    this.bodies.delete(file);
    this.bodies.set(file, body);
    for (const [oldest, { bytes }] of this.bodies) {
      if (this.held <= this.limit) break;
      this.bodies.delete(oldest);
      this.held -= bytes;
    }
  }
}
