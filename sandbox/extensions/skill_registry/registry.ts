import { PithError, type SkillState } from 'pith';
import { Bodies } from './bodies.ts';
import type { SkillBody } from './body.ts';
import type { LastGood, RegistryOptions, SkillRegistry } from './registry-surface.ts';
import { inPieces } from './scan/pieces.ts';
import { offeredIn, someOf } from './scan/scan-log.ts';
import { editSnapshot } from './scan/edited-snapshot.ts';
import type { FoundSkill } from './scan/found.ts';
import { loadSnapshot, SnapshotWriter } from './scan/snapshot-file.ts';
import { buildSnapshot, changeBetween } from './scan/snapshot.ts';
import { SourceScans } from './scan/source-scans.ts';
import { locate, resolveSources, type Source } from './scan/sources.ts';
import { SourceWatch } from './scan/watch.ts';
import type { Skill, Snapshot } from './skill.ts';
import { TRUST_CURE, Trust } from './trust/trust.ts';

/** With at most so many skills their bodies are kept at once; with more, as they are read. */
const KEEP_AT_ONCE = 64;
/** States in which a skill is used; in the others a person only looks at it. */
const USED: ReadonlySet<SkillState> = new Set(['offered', 'shadowed']);
const EMPTY: Snapshot = { generation: 0, skills: new Map(), all: [], aliases: new Map(), diagnostics: [] };

export type { RegistryOptions, SkillRegistry } from './registry-surface.ts';

export function createRegistry(options: RegistryOptions): SkillRegistry {
  return new Registry(options);
}

class Registry implements SkillRegistry {
  readonly sources: readonly Source[];
  readonly trust: Trust;
  private readonly options: RegistryOptions;
  private readonly scans: SourceScans;
  private readonly bodies: Bodies;
  private readonly writer: SnapshotWriter;
  private snapshot = EMPTY;
  private loaded = false;
  private running: Promise<Snapshot> | null = null;
  private following: { folders: readonly string[] | null; readonly done: Promise<Snapshot> } | null = null;
  private watching: SourceWatch | null = null;
  private scannedAt = -Infinity;
  private readLast: readonly string[] = [];
  private removed = new Map<string, Skill>();
  /** The skills whose tokens were counted and told by no snapshot yet. */
  private counted: FoundSkill[] = [];
  readonly keepBodies = (): Promise<void> => this.bodies.hurry();

  constructor(options: RegistryOptions) {
    this.options = options;
    this.sources = resolveSources(options, options.config);
    const trustedLinks = (options.config.trusted_links ?? []).map((path) => locate(path, options));
    const { dataDirectory, config, clock, logger, keepsBodies = true } = options;
    const { sources } = this;
    this.trust = new Trust({ dataDirectory, mode: config.trust ?? 'ask', clock });
    this.bodies = new Bodies({ sources, trustedLinks, keepsUnasked: keepsBodies, clock, logger });
    this.scans = new SourceScans({ sources, trustedLinks, trust: this.trust, clock, goodBody: (file) => this.bodies.kept(file) });
    this.writer = new SnapshotWriter({ dataDirectory, sources, clock, logger });
  }

  current(): Snapshot {
    return this.snapshot;
  }

  refresh(folders: readonly string[] | null = null): Promise<Snapshot> {
    if (this.running === null)
      return (this.running = this.scan(folders).finally(() => {
        this.running = null;
      }));
    const { following } = this;
    if (following === null) {
      const next = { folders, done: this.running.then(noop, noop).then(() => this.refresh(this.takeFollowing())) };
      this.following = next;
      return next.done;
    }
    following.folders = folders === null || following.folders === null ? null : [...following.folders, ...folders];
    return following.done;
  }

  async refreshIfOlderThan(ms: number): Promise<Snapshot> {
    const age = this.options.clock.now() - this.scannedAt;
    if (age >= 0 && age <= ms) {
      const told = this.watching === null ? [] : await this.watching.told();
      if (told !== null && told.length === 0) return this.running ?? this.snapshot;
      return this.refresh(told);
    }
    const folders = (await this.watching?.untold()) ?? null;
    this.scannedAt = this.options.clock.now();
    return this.refresh(folders);
  }

  lastGood(id: string): LastGood | null {
    const skill = this.snapshot.skills.get(id) ?? this.removed.get(id);
    const body = skill === undefined ? null : this.bodies.kept(skill.file);
    return skill === undefined || body === null ? null : { skill, body };
  }

  async readBody(skill: Skill): Promise<SkillBody> {
    const { clock, logger } = this.options;
    const began = clock.now();
    const read = await this.bodies.read(skill);
    const doubt = USED.has(skill.state) ? await this.whyNotTrusted(skill) : null; // now: what was read is what is judged
    if (doubt !== null)
      throw new PithError('skill_not_offered', `skill '${skill.id}' is untrusted: ${doubt}`, { where: skill.file, cure: TRUST_CURE });
    logger.info('skill loaded', { id: skill.id, source: skill.source, sha256: read.sha256, bytes: read.bytes, ms: clock.now() - began });
    return read;
  }

  async studyBody(skill: Skill): Promise<string | null> {
    const body = await this.bodies.readAhead(skill);
    if (body === null) return null;
    const found = body.stale === undefined ? this.scans.foundOf(skill) : undefined;
    if (found !== undefined) {
      const { estimateTokenCount } = await import('tokenx');
      found.bodyTokens = estimateTokenCount(body.body);
      this.counted.push(found);
    }
    return body.body;
  }

  async publishTokens(): Promise<void> {
    if (this.counted.length === 0 || this.running !== null) return; // a scan that runs tells it, or the next one
    this.running = this.retell().finally(() => {
      this.running = null;
    });
    await this.running;
  }

  async isStillTrusted(skill: Skill): Promise<boolean> {
    return (await this.whyNotTrusted(skill)) === null;
  }

  async watch(signal: AbortSignal): Promise<void> {
    const { clock, logger, config } = this.options;
    const look = async (folders: readonly string[] | null) => {
      await this.refresh(folders);
      return this.readLast;
    };
    const watching = new SourceWatch({ groups: () => this.scans.groups(), look, pollSeconds: config.poll_seconds ?? 5, clock, logger });
    this.watching = watching;
    try {
      await watching.run(signal);
    } finally {
      this.watching = null;
    }
  }

  async close(): Promise<void> {
    this.bodies.close();
    await this.running?.catch(noop);
    await this.writer.flush();
  }

  private async retell(): Promise<Snapshot> {
    const sourced = this.scans.sourced();
    this.snapshot = await this.snapshotOf(this.takeCounted());
    this.remember(sourced);
    return this.snapshot;
  }

  private takeFollowing(): readonly string[] | null {
    const { folders = null } = this.following ?? {};
    this.following = null;
    return folders;
  }

  private remember(sourced = this.scans.sourced()): void {
    this.writer.write(sourced);
  }

  private async scan(folders: readonly string[] | null): Promise<Snapshot> {
    const { clock, logger } = this.options;
    const began = clock.now();
    if (folders === null) this.scannedAt = began; // a hint's look says nothing of the other folders
    const first = this.snapshot.generation === 0;
    if (!this.loaded) await this.load();
    const { changed, found, read, edited } = await this.scans.look(first ? null : folders);
    this.readLast = read.map(({ directory }) => directory);
    if (!changed && !first && this.counted.length === 0) return this.snapshot;
    this.bodies.forgetRoots();
    const before = this.snapshot;
    const counted = this.takeCounted(); // what is counted from here on is for the next
    const next = await this.snapshotOf(edited === null ? null : [...edited, ...counted]);
    if (next.all.length <= KEEP_AT_ONCE) await this.bodies.readAllAhead(next, read);
    this.snapshot = next;
    if (found || counted.length > 0) this.remember();
    const change = await inPieces(changeBetween(before, next));
    const counts = { skills: next.all.length, offered: offeredIn(next), read: read.length, ms: clock.now() - began };
    if (first) logger.info('skills discovered', { ...counts, ids: someOf([...next.skills.keys()]) });
    else if (read.length > 0) logger.debug('skills scanned', counts);
    if (first) return next;
    if (change.added.length + change.changed.length + change.removed.length === 0) return next;
    this.rememberRemoved(before, change.removed);
    const { added, removed } = change;
    logger.info('skills changed', { ...counts, added: someOf(added), changed: someOf(change.changed), removed: someOf(removed) });
    this.options.onChange?.(change, next);
    return next;
  }

  private takeCounted(): readonly FoundSkill[] {
    return this.counted.splice(0);
  }

  private async snapshotOf(edited: readonly FoundSkill[] | null = null): Promise<Snapshot> {
    const { config } = this.options;
    const sourced = this.scans.sourced();
    const patched = edited === null ? null : editSnapshot(this.snapshot, edited, sourced, config);
    return patched ?? inPieces(buildSnapshot(sourced, config, this.snapshot, this.scans.findings()));
  }

  private async load(): Promise<void> {
    this.loaded = true;
    const loaded = await loadSnapshot(this.options.dataDirectory, this.sources);
    if (loaded.problem !== null) this.options.logger.warn(loaded.problem);
    this.scans.restore(loaded.scans);
    for (const scan of loaded.scans.values()) {
      for (const found of scan.skills.values()) if (found.good?.body) this.bodies.keep(found.file, found.good.body);
    }
  }

  private async whyNotTrusted(skill: Skill): Promise<string | null> {
    const source = this.sources.find(({ label }) => label === skill.source);
    return source === undefined ? null : this.trust.whyNot(source, { ...skill, declared: skill });
  }

  private rememberRemoved(before: Snapshot, ids: readonly string[]): void {
    for (const id of ids) {
      const skill = before.skills.get(id);
      if (skill) this.removed.set(id, skill);
    }
    for (const id of this.removed.keys()) {
      if (this.removed.size <= 256 && !this.snapshot.skills.has(id)) continue;
      this.removed.delete(id);
    }
  }
}

function noop(): void {}
