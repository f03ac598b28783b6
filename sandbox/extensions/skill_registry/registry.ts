import { type AgentSpec, type Clock, type Diagnostic, type Logger, PithError } from 'pith';
import { keepNewest } from '@pith/plain-data';
import { counted, printableLine, someOf } from '@pith/plain-text';
import type { Skill, SkillState, Snapshot } from './skill.ts';
import { Bodies, type SkillBody } from './bodies.ts';
import type { CopiedFile, SkillsChange } from './contract.ts';
import { DraftFiles } from './drafts/draft-files.ts';
import { OutsideChanges, reasonOf } from './drafts/outside-changes.ts';
import { DraftRecords } from './drafts/draft-records.ts';
import { buildSnapshot, changeBetween } from './scan/snapshot.ts';
import { findSkill } from './scan/names.ts';
import { SourceScans } from './scan/source-scans.ts';
import { locate, type Places, type RegistryConfig, draftsSource, resolveSources, type Source } from './scan/sources.ts';
import { FolderWatch } from '@pith/folder-watch';
import { stateFolder } from '@pith/safe-files';
import { KeptScans } from './scan/kept-scans.ts';
import { inPieces } from '@pith/skill-files';
import { countTokens } from '@pith/token-count';
import { Trust, TRUST_CURE, type TrustOptions } from './trust/trust.ts';
import { namesVersion, referenceTo, Versions } from './versions/versions.ts';
import { History } from './history/history.ts';
import { recoverAll, type Target, targetsAt } from './writing/targets.ts';

/** What begins later than this after the last scan, or than ten times as long as that took, is preceded by another: one message is answered from one scan. */
const FRESH_MS = 250;
const REST = 10;
const FELT_MS = 50;
/** States in which a skill is used; in the others a person only looks at it. */
const USED: ReadonlySet<SkillState> = new Set(['offered', 'shadowed']);
const EMPTY: Snapshot = { generation: 0, skills: new Map(), all: [], aliases: new Map(), diagnostics: [] };

/** Knows every skill of every source. Snapshots are immutable and swapped at once. */
export class SkillRegistry {
  readonly sources: readonly Source[];
  /** What is trusted, and why what is not is not. */
  readonly trust: Trust;
  /** Skills as they were, for who names a version. */
  readonly versions: Versions;
  /** The folders into which skills are written. */
  readonly targets: readonly Target[];
  /** The accepted changes of the skills in them. */
  readonly history: History;
  /** What agents wrote of new skills, and who. */
  readonly drafts: { readonly records: DraftRecords; readonly files: DraftFiles };
  /** What programs changed that nothing confines. */
  readonly outside: OutsideChanges;
  private readonly options: RegistryOptions;
  private readonly scans: SourceScans;
  private readonly bodies: Bodies;
  private snapshot = EMPTY;
  private running: Promise<Snapshot> | null = null;
  private following: Promise<Snapshot> | null = null;
  private watching: FolderWatch | null = null;
  private scannedAt = -Infinity;
  private scanMs = 0;
  private removed = new Map<string, Skill>();
  /** Tokens were counted that no snapshot says yet. */
  private hasCounted = false;
  private outsideStamp = '';
  /** What killed commands left to be looked at. */
  private leftovers: readonly Diagnostic[] = [];

  constructor(options: RegistryOptions) {
    this.options = options;
    const drafts = options.untrustedSandbox ? [] : [draftsSource(options)]; // of a sandbox that nobody trusts nothing is read but what is listed
    this.sources = [...drafts, ...resolveSources(options, options.config)];
    const trustedLinks = (options.config.trusted_links ?? []).map((path) => locate(path, options));
    const { dataDirectory, config, clock, logger } = options;
    const { sources } = this;
    this.trust = new Trust({ dataDirectory, mode: config.trust ?? 'auto', clock, logger, inspect: options.inspect });
    this.versions = new Versions({ dataDirectory, clock, config, isTrusted: (skill, copy) => this.isStillTrusted(skill, copy) });
    this.targets = targetsAt(options, dataDirectory, clock, (label, folders) => this.history.counted(label, folders));
    this.history = new History({ dataDirectory, clock, logger, targets: this.targets, versions: this.versions });
    this.outside = new OutsideChanges({
      dataDirectory,
      clock,
      logger,
      history: this.history,
      versions: this.versions,
      decided: (id) => options.onDecided?.(id),
    });
    this.drafts = { records: new DraftRecords(dataDirectory, clock), files: new DraftFiles(options.sandbox) };
    this.bodies = new Bodies({ sources, trustedLinks, logger });
    const kept = new KeptScans(stateFolder(dataDirectory, '.cache'), logger);
    this.scans = new SourceScans({
      sources,
      trustedLinks,
      trust: this.trust,
      drafts: this.drafts.records,
      clock,
      kept,
      goodBody: (file) => this.bodies.kept(file),
    });
  }

  /** The newest snapshot; empty, generation 0, before the first `refresh`. */
  current(): Snapshot {
    return this.snapshot;
  }

  /** Looks at every file's stamp, reads what changed and swaps. One at a time: a call during a scan gets the next one. */
  refresh(): Promise<Snapshot> {
    if (this.running !== null) return (this.following ??= this.running.then(noop, noop).then(() => this.followUp()));
    return (this.running = this.scan().finally(() => {
      this.running = null;
    }));
  }

  /** `refresh`, unless the last one began at most `ms` ago and the file system has hinted at no change since. */
  async refreshIfOlderThan(ms: number): Promise<Snapshot> {
    const age = this.options.clock.now() - this.scannedAt;
    if (age >= 0 && age <= ms && (await this.watching?.takeHint()) !== true) return this.following ?? this.running ?? this.snapshot;
    this.scannedAt = this.options.clock.now();
    return this.refresh();
  }

  /** Something has just changed: no scan before this is enough. */
  outdated(): void {
    this.scannedAt = Number.NEGATIVE_INFINITY;
  }

  /** As a turn or a call of one begins with it: a scan that has just been made is enough. */
  fresh(): Promise<Snapshot> {
    return this.refreshIfOlderThan(Math.max(FRESH_MS, REST * this.scanMs));
  }

  /** As a listing begins with it: all that is there now. Where scans take as long as a person notices, one is enough until the watch hints at a change. */
  listing(): Promise<Snapshot> {
    return this.scanMs < FELT_MS || this.watching === null ? this.refresh() : this.fresh();
  }

  /** As `fresh`, with the versions that an agent names in the place of the present ones. */
  async freshFor(agent: Pick<AgentSpec, 'usesSkills'>): Promise<Snapshot> {
    return this.versions.inPlace(await this.fresh(), agent);
  }

  /** Keeps what a reference names, and returns `id@sha256:…` by which it is found from now on. Rejects `skill_not_found`. */
  async keepVersion(reference: string): Promise<string> {
    const snapshot = await this.fresh();
    if (namesVersion(snapshot, reference)) return referenceTo(await this.versions.find(snapshot, reference));
    const skill = findSkill(snapshot, reference);
    if (skill === undefined || !USED.has(skill.state))
      throw new PithError('skill_not_found', printableLine(`there is no skill '${reference}'`), { cure: 'see pith skills list' });
    return `${skill.id}@${(await this.versions.keep(skill)).digest}`;
  }

  /** The id of the skill in a folder; null: none is known. */
  idAt(directory: string): string | null {
    return this.snapshot.all.find((skill) => skill.directory === directory)?.id ?? null;
  }

  /** The last body that was read of a skill that is gone or broken, or null. Accepts ids only. */
  lastGood(id: string): { readonly skill: Skill; readonly body: SkillBody } | null {
    const skill = this.snapshot.skills.get(id) ?? this.removed.get(id);
    const body = skill === undefined ? null : this.bodies.kept(skill.file);
    return skill === undefined || body === null ? null : { skill, body };
  }

  /** The body as it is on disk now; `stale` says why where it is an earlier one. Rejects `skill_not_found`. */
  async readBody(skill: Skill): Promise<SkillBody> {
    const { clock, logger } = this.options;
    const began = clock.now();
    const read = await this.bodies.read(skill);
    const reason = USED.has(skill.state) ? await this.reasonAgainst(skill, read) : null; // now: what was read is what is compared
    if (reason !== null)
      throw new PithError('skill_not_offered', printableLine(`skill '${skill.id}' is untrusted: ${reason}`), {
        where: skill.file,
        cure: TRUST_CURE,
      });
    if (read.stale === undefined) this.bodies.keep(skill.file, read);
    this.options.onLoaded?.(skill);
    logger.info('skill loaded', { id: skill.id, source: skill.source, sha256: read.sha256, bytes: read.bytes, ms: clock.now() - began });
    return read;
  }

  /** The body to be indexed, or null where it cannot be read now. Its tokens are counted where they are not yet: `publishTokens` makes them known. */
  async studyBody(skill: Skill): Promise<string | null> {
    const body = await this.bodies.readAhead(skill);
    if (body === null) return null;
    const found = body.stale === undefined ? this.scans.foundOf(skill) : undefined;
    if (found?.bodyTokens === null) {
      this.scans.count(found, countTokens(body.body));
      this.hasCounted = true;
    }
    return body.body;
  }

  /** Swaps in a snapshot that says what has been counted since. Nothing else changes, and nothing is published. */
  async publishTokens(): Promise<void> {
    if (!this.hasCounted || this.running !== null) return; // a scan that runs says it, or the next one
    this.running = this.swap().finally(() => {
      this.running = null;
    });
    await this.running;
  }

  /** False when a skill of a source that must be trusted, or this copy of its files, is not what was trusted. Ask before its scripts or toolsets run. */
  async isStillTrusted(skill: Skill, copy?: readonly CopiedFile[]): Promise<boolean> {
    const isIntact = await this.versions.isIntact(skill, copy);
    if (isIntact !== null) return isIntact;
    if ((await this.reasonAgainst(skill)) !== null) return false;
    const source = this.sources.find(({ label }) => label === skill.source);
    return copy === undefined || source === undefined || this.trust.isTrustedCopy(source, { ...skill, declared: skill }, copy);
  }

  /** The skill, or its recorded version where a program changed it that nothing confines; null: it may not be used. */
  async usable(skill: Skill): Promise<Skill | null> {
    const change = await this.outside.heldBack(skill);
    const used = change === null ? skill : await this.outside.recorded(change);
    return used !== null && (await this.isStillTrusted(used)) ? used : null;
  }

  /** Rescans until `signal` aborts: every `poll_seconds`, and sooner when the file system hints at a change. */
  async watch(signal: AbortSignal): Promise<void> {
    const { clock, logger, config } = this.options;
    const pollSeconds = config.poll_seconds ?? 5;
    const when = pollSeconds > 0 ? `every ${pollSeconds} s` : 'before a turn';
    const watching = new FolderWatch({
      folders: () => this.scans.folders(),
      look: () => this.refresh(),
      isRead: (name) => name.toLowerCase() === 'skill.md',
      pollSeconds,
      clock,
      onFailed: (error) => logger.warn(`skills could not be rescanned: ${String(error)}`),
      onFull: (error) => logger.warn(`not every folder of skills can be watched (${String(error)}); changes are seen ${when}`),
    });
    this.watching = watching;
    try {
      await watching.run(signal);
    } finally {
      this.watching = null;
    }
  }

  /** Resolves when nothing goes on any more. */
  async close(): Promise<void> {
    await this.running?.catch(noop);
    await this.scans.keep();
    await this.trust.store.close();
  }

  private followUp(): Promise<Snapshot> {
    this.following = null;
    return this.refresh();
  }

  private async scan(): Promise<Snapshot> {
    const { clock, logger } = this.options;
    const began = clock.now();
    this.scannedAt = began;
    const before = this.snapshot;
    const first = before.generation === 0;
    if (first) await this.recover();
    const { changed, read } = await this.scans.look();
    this.scanMs = clock.now() - began;
    const { stamp } = this.outside;
    const isOther = stamp !== this.outsideStamp;
    this.outsideStamp = stamp;
    if (!changed && !first && !this.hasCounted && !isOther) return before;
    this.bodies.forgetRoots();
    const next = await this.swap();
    const change = await inPieces(changeBetween(before, next));
    const offered = [...next.skills.values()].filter(({ state }) => state === 'offered').length;
    const counts = { skills: next.all.length, offered, read: read.length, ms: clock.now() - began };
    if (first) logger.info('skills discovered', { ...counts, ids: listed([...next.skills.keys()]) });
    else if (read.length > 0) logger.debug('skills scanned', counts);
    this.logFlaws(next, [...change.added, ...change.changed], !first);
    if (first) this.logUndescribed(next);
    if (first) return next;
    if (change.added.length + change.changed.length + change.removed.length === 0) return next;
    for (const id of change.removed) keepNewest(this.removed, id, before.skills.get(id)!, 256);
    const isUsable = (id: string) => next.skills.get(id)?.state !== 'invalid';
    const [added, removed] = [change.added.filter(isUsable), change.removed];
    logger.info('skills changed', { ...counts, added: listed(added), changed: listed(change.changed), removed: listed(removed) });
    this.options.onChange?.(change, next);
    return next;
  }

  /** A new snapshot of what the last look found. */
  private async swap(): Promise<Snapshot> {
    const sourced = this.scans.sourced();
    this.hasCounted = false; // what is counted from here on is for the next
    const next = await inPieces(buildSnapshot(sourced, this.options.config, this.snapshot, [...this.leftovers, ...this.scans.findings()]));
    this.snapshot = await this.outside.apply(next);
    return this.snapshot;
  }

  /** Broken and over-long skills, once for each version. Of a change while Pith runs also repairs, and a missing description. */
  private logFlaws({ skills }: Snapshot, ids: readonly string[], isLater: boolean): void {
    for (const id of ids) {
      const { state, diagnostics = [] } = skills.get(id) ?? {};
      const isNew = isLater && state === 'offered';
      for (const { severity, code, message, file, line } of diagnostics)
        if (severity === 'error' || code === 'body_large' || (isNew && (code === UNDESCRIBED || code.startsWith('repaired_'))))
          this.options.logger.warn(`skill '${id}' ${message}`, { file, line });
    }
  }

  /** In one line, since those of other systems may be many. */
  private logUndescribed({ skills }: Snapshot): void {
    const isUndescribed = ({ state, diagnostics }: Skill) => state === 'offered' && diagnostics.some(({ code }) => code === UNDESCRIBED);
    const found = [...skills.values()].filter(isUndescribed).map(({ id }) => printableLine(id));
    if (found.length === 0) return;
    this.options.logger.warn(
      `${counted(found.length, 'skill')} without a description: ${someOf(found, 3)}; the first paragraph is used, see pith doctor`,
    );
  }

  /** Undoes what killed commands had begun, before anything is read. */
  private async recover(): Promise<void> {
    const { logger } = this.options;
    this.leftovers = await recoverAll(this.targets.filter(({ folders }) => folders.isUnsettled()));
    for (const { message, file } of this.leftovers) logger.warn(message, { file });
  }

  /** `read`: bytes of its file that are to be used; an earlier version was compared when it was kept. */
  private async reasonAgainst(skill: Skill, read?: SkillBody): Promise<string | null> {
    const source = this.sources.find(({ label }) => label === skill.source);
    if (source === undefined) return null;
    const subject = { ...skill, declared: skill };
    const change = await this.outside.heldBack(skill);
    if (change !== null) return reasonOf(change);
    const reason = await this.trust.reasonAgainst(source, subject);
    if (reason !== null || read === undefined || read.stale !== undefined) return reason;
    return (await this.trust.isTrustedText(source, subject, skill.file, read.sha256)) ? null : 'it changed while it was read';
  }
}

const UNDESCRIBED = 'description_taken_from_text';

function noop(): void {}

/** A line of the log names no more than a person reads. */
function listed(ids: readonly string[]): readonly string[] {
  return ids.length <= 50 ? ids : [...ids.slice(0, 50), `and ${ids.length - 50} more`];
}

export interface RegistryOptions extends Places {
  readonly dataDirectory: string;
  readonly config: RegistryConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Scans a skill's folder; absent, or null: nothing scans. */
  readonly inspect?: TrustOptions['inspect'];
  /** Called after each swap that changed something, never for the first snapshot. */
  readonly onChange?: (change: SkillsChange, snapshot: Snapshot) => void;
  /** Called when a person decided on what an agent wrote of this skill, or a program changed in it. */
  readonly onDecided?: (id: string) => void;
  /** Called when the body of a skill has been read. */
  readonly onLoaded?: (skill: Skill) => void;
}
