import path from 'node:path';
import { type Clock, type Logger, messageOf } from 'pith';
import {
  changedRisks,
  type CopiedFile,
  type Declared,
  digestCopy,
  digestTree,
  fileContent,
  type FoundSkill,
  isRisky,
  placeOf,
  readTree,
  realOf,
  type SkillTree,
  type SourceScan,
  type TreeDigests,
  Yielder,
} from '@pith/skill-files';
import type { SkillFinding } from '../contract.ts';
import type { Source } from '../scan/sources.ts';
import { type TrustedSource, type TrustedTree, TrustFile } from './trust-file.ts';

/** `ask`: every change of a trusted skill is looked at by a person. `auto`: only one of links, scripts and toolsets; changed text is scanned. */
export type TrustMode = 'ask' | 'auto';

/** Why a skill is not trusted. */
export interface Distrust {
  /** As a clause about the skill. */
  readonly reason: string;
  /** Its source is trusted, and the skill is another, or was not there then: the chat says so. */
  readonly isChange: boolean;
  /** It may be used, and a process that scans may still hold it back: this one cannot, and only says so. */
  readonly isUndecided?: true;
}

/** null for a skill that is trusted. */
export type DistrustOf = (found: Pick<FoundSkill, 'directory'>) => Distrust | null;

/** As much of a skill as its trust depends on. */
export interface TrustSubject {
  readonly directory: string;
  readonly realDirectory: string;
  readonly declared: Declared;
}

export interface TrustOptions {
  readonly dataDirectory: string;
  readonly mode: TrustMode;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Scans a skill's folder; null: nothing scans. Absent: this process cannot, so it writes down nothing of what is not scanned. */
  readonly inspect?: ((directory: string) => Promise<readonly SkillFinding[] | null>) | undefined;
}

/** What to do about a skill that is not trusted. */
export const TRUST_CURE = "look at it and trust it: pith skills trust <source>, with the source that 'pith skills list --all' shows";
const CHANGED = 'changed since it was trusted';
/** What an inspector says of a file that it has not looked at, or not wholly. */
const NOT_SCANNED = 'not_scanned';

/** Decides what of the sources that nobody has named may be offered: what a person has looked at, as long as it stays as it was. */
export class Trust {
  readonly store: TrustStore;
  readonly #options: TrustOptions;
  /** As they were when they were looked at last, by real folder; of each source only those that it has. */
  readonly #trees = new Map<string, Map<string, SkillTree>>();
  readonly #digests = new WeakMap<SkillTree, { readonly declared: string; readonly digests: Promise<TreeDigests> }>();

  constructor(options: TrustOptions) {
    this.#options = options;
    this.store = new TrustStore(options);
  }

  /** What of a source is not trusted now. The same `key` means the same answers. */
  async check(source: Source, scan: SourceScan): Promise<{ readonly distrustOf: DistrustOf; readonly key: string }> {
    if (source.trusted || scan.skills.size === 0) return { distrustOf: () => null, key: '' };
    this.#forget(source, scan);
    const record = this.sourceRecord(source) ?? (await this.#adopted(source, scan));
    const untrusted = untrustedSource(source);
    if (record === null) return { distrustOf: () => untrusted, key: untrusted.reason };
    const yielder = new Yielder();
    const found = new Map<string, Distrust>();
    for (const skill of scan.skills.values()) {
      const isUsable = skill.parsed.valid || skill.good !== null;
      const distrust = isUsable ? await this.#compare(source, record, subjectOf(skill), yielder) : null;
      if (distrust !== null) found.set(skill.directory, distrust);
    }
    return { distrustOf: ({ directory }) => found.get(directory) ?? null, key: JSON.stringify([...found]) };
  }

  /** Why that skill may not be used at this moment; null when it may. Looks at every file's stamp. */
  async reasonAgainst(source: Source, skill: TrustSubject): Promise<string | null> {
    if (source.trusted) return null;
    const record = this.sourceRecord(source);
    const distrust = record === null ? untrustedSource(source) : await this.#compare(source, record, skill, new Yielder());
    return distrust === null || distrust.isUndecided === true ? null : distrust.reason;
  }

  /** Whether these bytes are those of a file that was found trusted: it may have been another while it was read, and be the old one again. */
  async isTrustedText(source: Source, skill: TrustSubject, file: string, sha256: string): Promise<boolean> {
    if (source.trusted) return true;
    const yielder = new Yielder();
    const tree = await this.#treeOf(source, skill, yielder);
    const entry = tree.tree.files.find((one) => one.path === path.basename(file));
    return entry !== undefined && (await fileContent(placeOf(tree.tree.directory, entry.path), entry, yielder)).sha256 === sha256;
  }

  /** Whether a copy of a skill's files, made while they may have been swapped, holds what is trusted. Of changed texts that count without a person, whatever they are. */
  async isTrustedCopy(source: Source, skill: TrustSubject, copy: readonly CopiedFile[]): Promise<boolean> {
    if (source.trusted) return true;
    const yielder = new Yielder();
    const known = this.sourceRecord(source)?.skills.get(folderOf(source, skill.directory));
    const held = await digestCopy(await this.#treeOf(source, skill, yielder), copy, skill.declared, yielder);
    if (known === undefined || held === null) return false;
    return held.tree === known.tree || (this.#options.mode === 'auto' && changedRisks(known.risk, held.risk) === '');
  }

  /** A skill as it is now, to be recorded. Rejects when its files cannot be read. */
  async look(source: Source, skill: TrustSubject, yielder = new Yielder()): Promise<Looked> {
    const tree = await this.#treeOf(source, skill, yielder);
    const digests = await this.#digestsOf(tree, skill.declared, yielder);
    return { tree, trusted: { ...digests, stats: tree.settled ? tree.stats : '' } };
  }

  /** What a person trusts of a source; null: nothing. */
  sourceRecord({ directory, trustedWithProject }: Source): TrustedSource | null {
    const record = this.store.sourceAt(realOf(directory) ?? directory);
    return record?.withProject === true && trustedWithProject !== true ? null : record;
  }

  async #compare(source: Source, record: TrustedSource, skill: TrustSubject, yielder: Yielder): Promise<Distrust | null> {
    const known = record.skills.get(folderOf(source, skill.directory));
    if (known?.refused === true) return { reason: 'you took its trust back', isChange: false };
    if (known === undefined && !record.whole)
      return record.skills.size === 0 ? untrustedSource(source) : { reason: 'nobody has trusted this skill', isChange: false };
    const isNew = `it is new in ${source.label} since that was trusted`;
    const changed = (reason: string): Distrust => ({ reason, isChange: true });
    if (known === undefined && this.#options.mode === 'ask') return changed(isNew);
    try {
      const tree = await this.#treeOf(source, skill, yielder);
      const isScanned = known?.unscanned !== true;
      const undecided = this.#options.inspect === undefined ? UNDECIDED : null; // nothing is on that scans: then nothing holds it back
      const isAsKnown = tree.settled && tree.stats === known?.stats && known.flagged === undefined;
      if (isAsKnown && (isScanned || undecided !== null)) return isScanned ? null : undecided;
      const looked = await this.look(source, skill, yielder);
      const { trusted: now } = looked;
      const isSame = known?.tree === now.tree;
      if (isSame && isScanned) return null;
      if (known?.flagged?.tree === now.tree) return changed(known.flagged.why);
      if (this.#options.mode === 'ask' && !isSame) return changed(CHANGED);
      const risks = isSame ? '' : changedRisks(known?.risk ?? '', now.risk);
      if (risks !== '') return changed(known === undefined ? `${isNew}, and has ${risks}` : `its ${risks} ${CHANGED}`);
      const text = known === undefined ? `${isNew}, and ` : isSame ? '' : `its text ${CHANGED}, and `;
      // What runs is a person's to look at in any case.
      const isText = (file: string) => !looked.tree.tree.entries.some((entry) => entry.path === file && isRisky(entry, now.risk !== ''));
      // A changed text that is too long for the scan is a person's to look at, too.
      const counts = ({ severity, code, file }: SkillFinding) => (severity === 'high' || code === NOT_SCANNED) && isText(file);
      const why = await this.#scanned(source, skill, looked, counts);
      if (why === 'unscanned') return undecided;
      const reason = why === null ? null : `${text}${why}`;
      const seen = reason === null ? now : { ...(known ?? NO_TREE), flagged: { tree: now.tree, why: reason } };
      this.store.note(realOf(source.directory) ?? source.directory, folderOf(source, skill.directory), seen);
      return reason === null ? null : changed(reason);
    } catch (error) {
      return changed(`its files could not be compared with what was trusted: ${messageOf(error)}`);
    }
  }

  /** What a person should look at first of the findings that count, worst first; null: nothing. Rejects when the skill changes meanwhile. */
  async #scanned(
    source: Source,
    skill: TrustSubject,
    before: Looked,
    counts: (finding: SkillFinding) => boolean,
  ): Promise<string | 'unscanned' | null> {
    const findings = (await this.#options.inspect?.(skill.realDirectory)) ?? null;
    if (findings === null) return 'unscanned'; // for this time: who scans later has not seen it
    const { tree, trusted } = await this.look(source, skill);
    // The stamps too: it may have been another while it was scanned, and be the old one again.
    if (trusted.tree !== before.trusted.tree || tree.stats !== before.tree.stats) throw new Error('it changed while it was scanned');
    const worst = findings.find(counts);
    if (worst === undefined) return null;
    const { severity, file, line, message } = worst;
    return severity === 'high'
      ? `the scan found something of severity high: ${file}:${line} ${message}`
      : `the scan did not look at all of it: ${file} ${message}`;
  }

  /** What was trusted with the project is scanned and recorded as it is when it is looked at first; null: nothing was. */
  async #adopted(source: Source, { skills }: SourceScan): Promise<TrustedSource | null> {
    if (source.trustedWithProject !== true || this.store.file.read().problem !== null) return null;
    const trees = new Map<string, TrustedTree>();
    const yielder = new Yielder();
    for (const found of skills.values()) {
      const skill = subjectOf(found);
      try {
        const { stats, settled } = await this.#treeOf(source, skill, yielder);
        if (this.#options.inspect === undefined && settled) {
          trees.set(folderOf(source, found.directory), { ...NO_TREE, stats, unscanned: true }); // nobody scans, so nothing is written: stamps do
          continue;
        }
        const looked = await this.look(source, skill, yielder);
        const warning = await this.#scanned(source, skill, looked, ({ severity }) => severity === 'high');
        const isFine = warning === null || warning === 'unscanned';
        trees.set(
          folderOf(source, found.directory),
          isFine
            ? { ...looked.trusted, ...(warning === null ? {} : { unscanned: true as const }) }
            : { ...NO_TREE, flagged: { tree: looked.trusted.tree, why: warning } },
        );
      } catch {
        // It waits, and its reason says what cannot be read.
      }
    }
    const at = new Date(this.#options.clock.now()).toISOString();
    const record = { whole: true, withProject: true, at, skills: trees };
    this.store.adopt(realOf(source.directory) ?? source.directory, record, this.#options.inspect !== undefined);
    return this.sourceRecord(source);
  }

  async #treeOf({ directory }: Source, { realDirectory }: TrustSubject, yielder: Yielder): Promise<SkillTree> {
    const trees = this.#trees.get(directory) ?? new Map<string, SkillTree>();
    this.#trees.set(directory, trees);
    const tree = await readTree(realDirectory, trees.get(realDirectory) ?? null, this.#options.clock.now(), yielder);
    trees.set(realDirectory, tree);
    return tree;
  }

  #forget({ directory }: Source, { skills }: SourceScan): void {
    const trees = this.#trees.get(directory);
    if (trees === undefined || trees.size <= skills.size) return;
    const here = new Set([...skills.values()].map(({ realDirectory }) => realDirectory));
    for (const gone of [...trees.keys()].filter((folder) => !here.has(folder))) trees.delete(gone);
  }

  #digestsOf(tree: SkillTree, declared: Declared, yielder: Yielder): Promise<TreeDigests> {
    const key = JSON.stringify([declared.scripts, declared.toolsets]);
    const known = this.#digests.get(tree);
    if (known?.declared === key) return known.digests;
    const digests = digestTree(tree, declared, yielder);
    this.#digests.set(tree, { declared: key, digests });
    digests.catch(() => this.#digests.delete(tree));
    return digests;
  }
}

/** A skill as it is now. */
interface Looked {
  readonly tree: SkillTree;
  readonly trusted: TrustedTree;
}

const UNDECIDED: Distrust = {
  reason: 'is not scanned yet: it is offered unless the scan finds something of severity high',
  isChange: false,
  isUndecided: true,
};

/** Stands for a skill of which nothing was trusted yet. */
const NO_TREE: TrustedTree = { tree: '', risk: '', stats: '' };

export function untrustedSource({ label }: Source): Distrust {
  return { reason: `its source ${label} is not trusted`, isChange: false };
}

/** A skill's folder relative to its source. */
export function folderOf({ directory }: Source, skill: string): string {
  return skill.slice(directory.length + 1);
}

function subjectOf({ directory, realDirectory, parsed }: FoundSkill): TrustSubject {
  return { directory, realDirectory, declared: parsed.fields };
}

/** What this process has found of one source and is not in the file yet. */
interface Pending {
  /** The source as it was trusted with the project; null: the file has its record. */
  adopted: TrustedSource | null;
  /** By the skill's folder, relative to the source. */
  readonly seen: Map<string, TrustedTree>;
  /** Grows with each change. */
  version: number;
}

/** What a person trusts, with what was found since. It counts in this process at once, and is written in the background: neither a lock nor a full disk keeps anybody from their skills. */
class TrustStore {
  readonly file: TrustFile;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** By the source's real path. */
  readonly #pending = new Map<string, Pending>();
  #writing: Promise<void> = Promise.resolve();

  constructor({ dataDirectory, clock, logger }: { readonly dataDirectory: string; readonly clock: Clock; readonly logger: Logger }) {
    this.file = new TrustFile(dataDirectory);
    this.#clock = clock;
    this.#logger = logger;
  }

  /** null where nothing of the source at that real path is trusted, or the file is damaged. */
  sourceAt(place: string): TrustedSource | null {
    const { sources, problem } = this.file.read();
    return problem === null ? merged(sources.get(place) ?? null, this.#pending.get(place)) : null;
  }

  /** Takes a source that was trusted with the project as it is, unless there is a record of it by now. `lasts`: also for other processes. */
  adopt(place: string, source: TrustedSource, lasts: boolean): void {
    this.#of(place).adopted = source;
    if (lasts) this.#write(place);
  }

  /** A skill of a trusted source was found to be all right as it is now, or to wait. */
  note(place: string, folder: string, tree: TrustedTree): void {
    this.#of(place).seen.set(folder, tree);
    this.#write(place);
  }

  /** Resolves when everything is written, or could not be. */
  close(): Promise<void> {
    return this.#writing;
  }

  #of(place: string): Pending {
    const pending = this.#pending.get(place) ?? { adopted: null, seen: new Map(), version: 0 };
    this.#pending.set(place, pending);
    pending.version += 1;
    return pending;
  }

  /** What could not be written goes with the next change of that source. */
  #write(place: string): void {
    this.#writing = this.#writing.then(async () => {
      const pending = this.#pending.get(place);
      if (pending === undefined) return; // an earlier write took it along
      try {
        let written = -1;
        await this.file.change(place, this.#clock, (before) => {
          written = pending.version;
          return merged(before, pending);
        });
        if (pending.version === written) this.#pending.delete(place);
      } catch (error) {
        this.#logger.warn('what is trusted of skills was not written', { file: this.file.file, why: messageOf(error) });
      }
    });
  }
}

/** What a person took back meanwhile stays taken back. */
function merged(before: TrustedSource | null, pending: Pending | undefined): TrustedSource | null {
  const source = before ?? pending?.adopted ?? null;
  if (source === null || pending === undefined) return source;
  const seen = [...pending.seen].filter(([folder]) => source.whole || source.skills.has(folder));
  return { ...source, skills: new Map([...source.skills, ...seen]) };
}
