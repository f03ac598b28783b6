import type { Clock, Logger } from 'pith';
import { Bodies } from './bodies.ts';
import type { SkillBody } from './body.ts';
import type { FoundSkill, SourceScan } from './scan/found.ts';
import { inPieces } from './scan/pieces.ts';
import { offeredIn, someOf } from './scan/scan-log.ts';
import { NOTHING, scanSource } from './scan/scan.ts';
import { loadSnapshot, SnapshotWriter } from './scan/snapshot-file.ts';
import { buildSnapshot, changeBetween, type SourcedScan } from './scan/snapshot.ts';
import type { Skill, Snapshot, SnapshotChange } from './skill.ts';
import { locate, resolveSources, type RegistryConfig, type Source } from './scan/sources.ts';
import { toFileStamp, versionOf } from './scan/stamp.ts';
import { watchSources } from './scan/watch.ts';

export interface RegistryOptions {
  /** Absolute. */
  readonly sandbox: string;
  /** Absolute; what relative paths of the settings are relative to. */
  readonly project: string;
  /** The user's home folder; null or absent: there is none. */
  readonly home?: string | null;
  /** Absolute path of the shipped skills, or null where the sandbox holds them itself. */
  readonly bundled?: string | null;
  /** Folders of skills that shipped extensions carry, by the extension's id. */
  readonly carried?: ReadonlyMap<string, string>;
  readonly dataDirectory: string;
  readonly config: RegistryConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether bodies that nobody asked for are kept too, so that a skill that breaks stays readable. A command leaves it out. */
  readonly keepsBodies?: boolean;
  /** Called after each swap that changed something, never for the first snapshot. */
  readonly onChange?: (change: SnapshotChange, snapshot: Snapshot) => void;
}

export interface LastGood {
  readonly skill: Skill;
  readonly body: SkillBody;
}

/** Knows every skill of every source. Snapshots are immutable and swapped at once. */
export interface SkillRegistry {
  readonly sources: readonly Source[];
  /** The newest snapshot; empty, generation 0, before the first `refresh`. */
  current(): Snapshot;
  /** Looks at every file's stamp, reads what changed and swaps. One at a time: a call during a scan gets the next one. */
  refresh(): Promise<Snapshot>;
  /** `refresh`, unless the last one began at most `ms` ago. */
  refreshIfOlderThan(ms: number): Promise<Snapshot>;
  /** The last body that was read of a skill that is gone or broken, or null. Accepts ids only. */
  lastGood(id: string): LastGood | null;
  /** The body as it is on disk now; `stale` says why where it is an earlier one. Rejects `skill_not_found`. */
  readBody(skill: Skill): Promise<SkillBody>;
  /** The body to be indexed, or null where it cannot be read now. Its tokens are counted: `publishTokens` makes them known. */
  studyBody(skill: Skill): Promise<string | null>;
  /** Swaps in a snapshot that says what has been counted since. Nothing else changes, and nobody is told. */
  publishTokens(): Promise<void>;
  /** Rescans until `signal` aborts: every `poll_seconds`, and sooner when the file system hints at a change. */
  watch(signal: AbortSignal): Promise<void>;
  /** Writes what is still to be written. */
  close(): Promise<void>;
}

/** With at most so many skills their bodies are kept at once; with more, as they are read. */
const KEEP_AT_ONCE = 64;
const EMPTY: Snapshot = { generation: 0, skills: new Map(), all: [], aliases: new Map(), diagnostics: [] };

export function createRegistry(options: RegistryOptions): SkillRegistry {
  return new Registry(options);
}

class Registry implements SkillRegistry {
  readonly sources: readonly Source[];
  private readonly options: RegistryOptions;
  private readonly trustedLinks: readonly string[];
  private readonly bodies: Bodies;
  private readonly writer: SnapshotWriter;
  private snapshot = EMPTY;
  private scans: ReadonlyMap<string, SourceScan> = new Map();
  private loaded = false;
  private running: Promise<Snapshot> | null = null;
  private following: Promise<Snapshot> | null = null;
  private scannedAt = -Infinity;
  private removed = new Map<string, Skill>();
  /** Tokens of bodies were counted that no snapshot tells yet. */
  private counted = false;

  constructor(options: RegistryOptions) {
    this.options = options;
    this.sources = resolveSources(options, options.config);
    this.trustedLinks = (options.config.trusted_links ?? []).map((path) => locate(path, options));
    const { dataDirectory, clock, logger, keepsBodies = true } = options;
    this.bodies = new Bodies({ sources: this.sources, trustedLinks: this.trustedLinks, keepsUnasked: keepsBodies, logger });
    this.writer = new SnapshotWriter({ dataDirectory, sources: this.sources, clock, logger });
  }

  current(): Snapshot {
    return this.snapshot;
  }

  refresh(): Promise<Snapshot> {
    if (this.running === null)
      return (this.running = this.scan().finally(() => {
        this.running = null;
      }));
    this.following ??= this.running.then(noop, noop).then(() => {
      this.following = null;
      return this.refresh();
    });
    return this.following;
  }

  async refreshIfOlderThan(ms: number): Promise<Snapshot> {
    const age = this.options.clock.now() - this.scannedAt;
    if (age >= 0 && age <= ms) return this.running ?? this.snapshot;
    return this.refresh();
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
    logger.info('skill loaded', { id: skill.id, source: skill.source, sha256: read.sha256, bytes: read.bytes, ms: clock.now() - began });
    return read;
  }

  async studyBody(skill: Skill): Promise<string | null> {
    const body = await this.bodies.readAhead(skill);
    if (body === null) return null;
    const found = body.stale === undefined ? this.foundOf(skill) : undefined;
    if (found !== undefined) {
      const { estimateTokenCount } = await import('tokenx');
      found.bodyTokens = estimateTokenCount(body.body);
      this.counted = true;
    }
    return body.body;
  }

  async publishTokens(): Promise<void> {
    if (!this.counted || this.running !== null) return; // a scan that runs tells it, or the next one
    this.running = this.retell().finally(() => {
      this.running = null;
    });
    await this.running;
  }

  watch(signal: AbortSignal): Promise<void> {
    const { clock, logger, config } = this.options;
    const options = { folders: () => this.folders(), refresh: () => this.refresh(), pollSeconds: config.poll_seconds ?? 5, clock, logger };
    return watchSources(options, signal);
  }

  async close(): Promise<void> {
    await this.running?.catch(noop);
    await this.writer.flush();
  }

  private async retell(): Promise<Snapshot> {
    const sourced = this.sourced(this.scans);
    this.counted = false;
    this.snapshot = await inPieces(buildSnapshot(sourced, this.options.config, this.snapshot));
    this.writer.write(sourced);
    return this.snapshot;
  }

  private async scan(): Promise<Snapshot> {
    const { clock, logger, config } = this.options;
    const began = clock.now();
    this.scannedAt = began;
    const first = this.snapshot.generation === 0;
    if (!this.loaded) await this.load();
    const scans = new Map<string, SourceScan>();
    let changed = false;
    for (const source of this.sources) {
      const previous = this.scans.get(source.directory) ?? (first && source.configured ? null : NOTHING);
      const scan = await scanSource(source, previous, {
        trustedLinks: this.trustedLinks,
        now: () => clock.now(),
        goodBody: (file) => this.bodies.kept(file),
      });
      scans.set(source.directory, scan);
      changed ||= scan !== previous;
    }
    if (!changed && !first && !this.counted) return this.snapshot;
    const read = [...scans.values()].flatMap((scan) => scan.read);
    this.scans = scans;
    this.bodies.forgetRoots();
    const sourced = this.sourced(scans);
    const before = this.snapshot;
    const tells = changed || this.counted;
    this.counted = false; // what is counted from here on is for the next
    const next = await inPieces(buildSnapshot(sourced, config, before));
    if (next.all.length <= KEEP_AT_ONCE) await this.bodies.readAllAhead(next, read);
    this.snapshot = next;
    if (tells) this.writer.write(sourced);
    const change = changeBetween(before, next);
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

  private async load(): Promise<void> {
    this.loaded = true;
    const loaded = await loadSnapshot(this.options.dataDirectory, this.sources);
    if (loaded.problem !== null) this.options.logger.warn(loaded.problem);
    this.scans = loaded.scans;
    for (const scan of loaded.scans.values()) {
      for (const found of scan.skills.values()) if (found.good?.body) this.bodies.keep(found.file, found.good.body);
    }
  }

  private foundOf({ directory, stamp }: Skill): FoundSkill | undefined {
    for (const { skills } of this.scans.values()) {
      const found = skills.get(directory);
      if (found !== undefined) return versionOf(toFileStamp(found.stamp)) === versionOf(stamp) ? found : undefined;
    }
    return undefined;
  }

  private sourced(scans: ReadonlyMap<string, SourceScan>): readonly SourcedScan[] {
    return this.sources.map((source) => ({ source, scan: scans.get(source.directory) as SourceScan }));
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

  private folders(): readonly string[] {
    return [...this.scans.values()].flatMap((scan) => [...scan.directories.keys(), ...scan.skills.keys()]);
  }
}

function noop(): void {}
