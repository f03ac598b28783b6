import type { Clock, Diagnostic, Logger } from 'pith';
import { readSkillBody, type SkillBody } from './body.ts';
import { realOf } from './scan/stamp.ts';
import type { FoundSkill } from './scan/found.ts';
import type { Skill, Snapshot } from './skill.ts';
import type { Source } from './scan/sources.ts';

export interface BodiesOptions {
  readonly sources: readonly Source[];
  /** Absolute paths beside the sources in which a file may really lie. */
  readonly trustedLinks: readonly string[];
  /** Whether bodies that nobody asked for are kept too; `late`: once the process has lived a moment. */
  readonly keepsUnasked: boolean | 'late';
  readonly clock: Clock;
  readonly logger: Logger;
}

const LATE_MS = 500;

/** Reads bodies as they are on disk, and keeps the last good ones for the time when a file breaks or goes. */
export class Bodies {
  private readonly store = new BodyStore();
  private readonly options: BodiesOptions;
  /** Real directories of each source, links followed. */
  private readonly roots = new Map<string, readonly string[]>();
  private late: boolean;
  private newest: Snapshot | null = null;
  private cancel: (() => void) | null = null;

  constructor(options: BodiesOptions) {
    this.options = options;
    this.late = options.keepsUnasked === 'late';
  }

  /** The last good one that is kept, or null. */
  kept(file: string): SkillBody | null {
    return this.store.get(file);
  }

  keep(file: string, body: SkillBody): void {
    this.store.keep(file, body);
  }

  /** For who asked: it is kept. Rejects `skill_not_found`. */
  async read(skill: Skill): Promise<SkillBody> {
    const body = await this.readNow(skill);
    if (body.stale === undefined) this.store.keep(skill.file, body);
    return body;
  }

  /** For nobody yet: kept while there is room. null where it cannot be read now. */
  async readAhead(skill: Skill): Promise<SkillBody | null> {
    try {
      const body = await this.readNow(skill);
      if (body.stale === undefined && this.options.keepsUnasked) this.store.keepIfRoom(skill.file, body);
      return body;
    } catch (error) {
      this.options.logger.debug('body not read', { file: skill.file, error: String(error) });
      return null;
    }
  }

  /** Reads ahead what is not kept yet or has changed. */
  async readAllAhead(snapshot: Snapshot, changed: readonly FoundSkill[]): Promise<void> {
    if (!this.options.keepsUnasked) return;
    if (this.late) {
      this.newest = snapshot;
      this.cancel ??= this.options.clock.after(LATE_MS, () => void this.hurry());
      return;
    }
    const { all } = snapshot;
    const files = new Set(changed.map(({ file }) => file));
    const wanted = all.filter(({ file, state }) => state === 'offered' && (files.has(file) || this.store.get(file) === null));
    await Promise.all(wanted.map((skill) => brokenBy(skill) ?? this.readAhead(skill)));
  }

  /** From now on they are read ahead at once. */
  async hurry(): Promise<void> {
    this.late = false;
    this.close();
    if (this.newest !== null) await this.readAllAhead(this.newest, []);
    this.newest = null;
  }

  close(): void {
    this.cancel?.();
    this.cancel = null;
  }

  /** Where the sources really are is looked up again. */
  forgetRoots(): void {
    this.roots.clear();
  }

  private readNow(skill: Skill): Promise<SkillBody> {
    return readSkillBody(skill, { kept: this.store.get(skill.file), broken: brokenBy(skill), roots: this.rootsOf(skill) });
  }

  private rootsOf({ source }: Skill): readonly string[] {
    let roots = this.roots.get(source);
    if (roots === undefined) {
      const own = this.options.sources.filter(({ label }) => label === source).map(({ directory }) => directory);
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
