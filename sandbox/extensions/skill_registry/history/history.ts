import { existsSync } from 'node:fs';
import path from 'node:path';
import { type Clock, type Logger, messageOf, PithError } from 'pith';
import { entriesOf, isBelow, readRegularFile } from '@pith/safe-files';
import { FILE_LIMIT, idOf, parseSkillFile, readTree, realOf, treeDigest, Yielder } from '@pith/skill-files';
import type { SkillChange, SkillVersion } from '../contract.ts';
import type { Skill } from '../skill.ts';
import type { Versions } from '../versions/versions.ts';
import type { StagedChanges, Target } from '../writing/targets.ts';
import { HistoryFiles, type HistorySubject, type PendingVersion, type RecordedHistory } from './history-file.ts';

export interface HistoryOptions {
  readonly dataDirectory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The folders into which skills are written, the one that wins first. */
  readonly targets: readonly Target[];
  readonly versions: Versions;
}

/**
 * The accepted changes of the skills in the folders that the writer writes: each with the folder as it was, kept by its digest. A change is
 * noted before it is made, and counts where the folder has it afterwards, so that a killed process leaves a history that is true.
 */
export class History {
  readonly #files: HistoryFiles;
  /** Changes that this process is making, by label and folder. */
  readonly #announced = new Map<string, HistorySubject>();

  constructor(private readonly options: HistoryOptions) {
    this.#files = new HistoryFiles(options.dataDirectory);
  }

  /** null: it lies elsewhere, or is a link to a folder elsewhere. */
  subjectOf({ id, source, directory }: Pick<Skill, 'id' | 'source' | 'directory'>): HistorySubject | null {
    const target = this.options.targets.find(({ place }) => place.label === source);
    if (target === undefined || !isBelow(directory, target.place.skills)) return null;
    const folder = path.relative(target.place.skills, directory);
    const real = realOf(target.place.skills);
    return real !== null && realOf(directory) === path.join(real, folder) ? { id, label: source, folder } : null;
  }

  /** Of a skill that is gone, where it has a history: `source/id`, or an id for the source that wins. */
  subjectNamed(reference: string): HistorySubject | null {
    for (const { place } of this.options.targets) {
      const id = reference.startsWith(`${place.label}/`) ? reference.slice(place.label.length + 1) : reference;
      const known = this.#files.read({ id, label: place.label });
      if (known !== null) return { id, label: place.label, folder: known.folder };
    }
    return null;
  }

  /** `source/id` of every skill that has a history, sorted. */
  recorded(): readonly string[] {
    return this.#files
      .subjects()
      .map(({ label, id }) => `${label}/${id}`)
      .sort();
  }

  has(subject: HistorySubject): boolean {
    return this.#files.has(subject);
  }

  directoryOf({ label, folder }: HistorySubject): string {
    return path.join(this.#targetOf(label).place.skills, folder);
  }

  /** The history, in which what the folder holds now is recorded. `mustKeep`: rejects `version_not_kept` where that cannot be kept. */
  async record(subject: HistorySubject, { mustKeep = false } = {}): Promise<RecordedHistory> {
    const known = this.#files.read(subject);
    if (!mustKeep && known !== null && known.pending === null && (await this.#isUnchanged(subject, known))) return known;
    const update = () => this.#update(subject, { mustKeep });
    // The skills' folder is locked only where a change of this skill is under way, or was cut off: looking at it writes nothing there.
    const isChanging = () => (this.#files.read(subject)?.pending ?? null) !== null;
    const done = await this.#exclusively(async () => (isChanging() ? null : update()));
    return done ?? this.#targetOf(subject.label).folders.settled(() => this.#exclusively(update));
  }

  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    return this.#files.exclusively(this.options.clock, work);
  }

  /** The folder of a version, which nobody may write into; null where the skill was absent. Rejects `version_not_kept`. */
  async folderOf(subject: HistorySubject, version: SkillVersion | undefined): Promise<string | null> {
    if (version === undefined || version.digest === null) return null;
    const kept = await this.options.versions.storeOf(subject.id).at(version.digest);
    if (kept !== null) return kept;
    const directory = this.directoryOf(subject);
    if ((await treeDigest(directory).catch(() => null)) === version.digest) return directory; // it cannot be kept, but it is there
    return lost(subject, version);
  }

  /** Writes a version to a place where nothing is. Rejects `version_not_kept`. */
  async putInto(place: string, subject: HistorySubject, version: SkillVersion): Promise<void> {
    const isWhole = version.digest !== null && (await this.options.versions.storeOf(subject.id).putInto(place, version.digest));
    if (!isWhole) lost(subject, version);
  }

  /** Notes the staged changes of a place in the histories, before they are made. `idAt`: of the skill in a folder; null: none is known. */
  async announce(
    { place }: Target,
    { directory, changes, note }: StagedChanges,
    idAt: (directory: string) => string | null,
  ): Promise<void> {
    const announce = async ({ folder, id, from }: SkillChange): Promise<void> => {
      const subject = { id: id || (idAt(path.join(place.skills, folder)) ?? idOf(`/${folder}`)), label: place.label, folder };
      const staged = from === null ? null : path.join(directory, from);
      const digest = staged && (await treeDigest(staged));
      const known = await this.#update(subject, { next: digest, mustKeep: note.how === 'rollback' });
      const version = staged && (await versionIn(staged));
      if (staged !== null) await this.#keep(subject, staged, version);
      const { how, by, reason = null, proposal = null } = note;
      const next = { digest, version, at: this.options.clock.now(), how, by, reason, proposal };
      await this.#files.write({ ...known, pending: { ...next, folder } });
      this.#announced.set(path.join(place.label, folder), subject);
    };
    for (const change of changes) if (isOfSkill(change)) await this.#exclusively(() => announce(change));
  }

  /** Records the announced changes of these folders: they count. Also those that a killed process had announced and made. */
  async counted(label: string, folders: readonly string[]): Promise<void> {
    const own = folders.flatMap((folder) => this.#announced.get(path.join(label, folder)) ?? []);
    const isOwn = own.length === folders.filter((folder) => isOfSkill({ folder })).length;
    const subjects = isOwn ? own : this.#files.subjects().filter((subject) => subject.label === label);
    for (const subject of subjects)
      await this.#exclusively(() => this.#settle(subject, folders)).catch((error: unknown) =>
        // It stays pending, and the next reader records it.
        this.options.logger.warn(`a change of the skill '${subject.id}' is not in its history yet: ${messageOf(error)}`),
      );
    for (const folder of folders) this.#announced.delete(path.join(label, folder));
  }

  async #settle(subject: HistorySubject, folders: readonly string[]): Promise<void> {
    const known = this.#files.read(subject);
    if (known === null || known.pending === null) return;
    const { folder = subject.folder, digest } = known.pending;
    if (!folders.includes(folder)) return;
    const settled = appended({ ...known, folder }, versionOf(known.pending));
    await this.#files.write({ ...settled, stamp: await this.#stampIfSame(settled, digest), pending: null });
  }

  /** Empty where somebody has written there since. */
  async #stampIfSame(subject: HistorySubject, digest: string | null): Promise<string> {
    const stamp = await this.stampOf(subject);
    const now = stamp === null ? null : await treeDigest(this.directoryOf(subject)).catch(() => '');
    return now === digest ? (stamp ?? '') : '';
  }

  /**
   * Brings the history up to date while nobody changes the folder: a pending change counts where the folder has it, and anything else that
   * the folder holds was written by hand. `next`: what a change is about to bring, which is recorded as that.
   */
  async #update(
    subject: HistorySubject,
    { next, mustKeep = false }: { readonly next?: string | null; readonly mustKeep?: boolean },
  ): Promise<RecordedHistory> {
    const directory = this.directoryOf(subject);
    const before = this.#files.read(subject) ?? emptyOf(subject);
    const stamp = await this.stampOf(subject);
    const digest = stamp === null ? null : await treeDigest(directory);
    let known: RecordedHistory = { ...before, pending: null };
    if (before.pending !== null && before.pending.digest === digest) known = appended(known, versionOf(before.pending));
    const last = known.versions.at(-1);
    const isNew = digest !== (last?.digest ?? null) && digest !== next;
    if (digest !== null && (isNew || mustKeep)) {
      const problem = await this.#keep(subject, directory, await versionIn(directory));
      if (problem !== null && mustKeep) throw problem;
    }
    if (isNew) known = appended({ ...known, folder: subject.folder }, await this.#foundNow(directory, digest, known.versions.length));
    known = { ...known, stamp: stamp ?? '' };
    if ((known.versions.length > 0 || before.pending !== null) && JSON.stringify(known) !== JSON.stringify(before))
      await this.#files.write(known);
    return known;
  }

  async #foundNow(directory: string, digest: string | null, before: number): Promise<PendingVersion> {
    const version = digest === null ? null : await versionIn(directory);
    const how = before === 0 ? 'found' : 'by_hand';
    return { digest, version, at: this.options.clock.now(), how, by: 'person', reason: null, proposal: null };
  }

  /** Why it cannot be kept; null: it is. */
  async #keep({ id, label, folder }: HistorySubject, directory: string, version: string | null): Promise<PithError | null> {
    try {
      await this.options.versions.keepFolder({ id, source: label, version, directory, name: path.basename(folder) });
      return null;
    } catch (error) {
      if (error instanceof PithError && error.code === 'version_not_kept') return error;
      throw error;
    }
  }

  async #isUnchanged(subject: HistorySubject, { stamp, versions }: RecordedHistory): Promise<boolean> {
    const now = await this.stampOf(subject);
    return now === null ? versions.at(-1)?.digest === null : now !== '' && now === stamp;
  }

  /** What changes with any file of the folder; empty where it changed just now, null where it is gone. */
  async stampOf(subject: HistorySubject): Promise<string | null> {
    const directory = this.directoryOf(subject);
    if (!existsSync(directory)) return null;
    const { stats, settled } = await readTree(directory, null, this.options.clock.now(), new Yielder());
    return settled ? stats : '';
  }

  #targetOf(label: string): Target {
    const target = this.options.targets.find(({ place }) => place.label === label);
    if (target === undefined)
      throw new PithError('skill_not_found', `no skills are written to '${label}'`, { cure: 'see pith skills list --all' });
    return target;
  }
}

/** Others only change an entry of the lock file, or what marks a folder as a plugin's. */
function isOfSkill({ folder }: Pick<SkillChange, 'folder'>): boolean {
  return folder !== '' && !path.basename(folder).startsWith('.');
}

function lost({ id }: HistorySubject, { number }: SkillVersion): never {
  throw new PithError('version_not_kept', `version ${number} of the skill '${id}' is not kept, or damaged`, {
    cure: `choose another: pith skills history ${id}`,
  });
}

function emptyOf(subject: HistorySubject): RecordedHistory {
  return { ...subject, stamp: '', pending: null, versions: [] };
}

function versionOf(pending: PendingVersion): Omit<SkillVersion, 'number'> {
  const { folder: _, ...version } = pending;
  return version;
}

/** The same content again is the same version. */
function appended(history: RecordedHistory, version: Omit<SkillVersion, 'number'>): RecordedHistory {
  const last = history.versions.at(-1);
  if ((last?.digest ?? null) === version.digest) return history;
  return { ...history, versions: [...history.versions, { number: history.versions.length + 1, ...version }] };
}

/** What the frontmatter in the folder says; null: nothing, or nothing that can be read. */
async function versionIn(directory: string): Promise<string | null> {
  const name = entriesOf(directory).find((entry) => entry.name.toLowerCase() === 'skill.md')?.name;
  if (name === undefined) return null;
  const file = path.join(directory, name);
  const bytes = await readRegularFile(file, FILE_LIMIT).catch(() => null); // too large, or no regular file
  if (bytes === null) return null;
  return (await parseSkillFile(bytes, { id: path.basename(directory), file, mode: 'load' })).fields.version;
}
