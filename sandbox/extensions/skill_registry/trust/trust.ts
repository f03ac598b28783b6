import path from 'node:path';
import { type Clock, type Logger, messageOf } from 'pith';
import { Breather, fileDigest, placeOf, realOf } from '@pith/skill-files';
import type { FoundSkill, SourceScan } from '../scan/found.ts';
import type { Source } from '../scan/sources.ts';
import type { SkillInspection } from '../contract.ts';
import { changedRisks, type Declared, digestTree, isRisky, readTree, type SkillTree, type TreeDigests } from './skill-tree.ts';
import { type TrustedSource, type TrustedTree, TrustFile } from './trust-file.ts';

/** `ask`: every change of a trusted skill is looked at by a person. `auto`: only one of links, scripts and toolsets; changed text is scanned. */
export type TrustMode = 'ask' | 'auto';

/** Why a skill is not trusted; null when it is. */
export type Doubts = (found: Pick<FoundSkill, 'directory'>) => string | null;

/** As much of a skill as its trust depends on. */
export interface Judged {
  readonly directory: string;
  readonly realDirectory: string;
  readonly declared: Declared;
}

export interface TrustOptions {
  readonly dataDirectory: string;
  readonly mode: TrustMode;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Scans a skill's folder; absent, or null: nothing scans. */
  readonly inspect?: ((directory: string) => Promise<SkillInspection['findings'] | null>) | undefined;
}

/** What to do about a doubt. */
export const TRUST_CURE = "look at it and trust it: pith skills trust <source>, with the source that 'pith skills list --all' shows";
const CHANGED = 'changed since it was trusted';
/** In the reason of a skill that is another, or was not there, when its source was trusted. */
export const SINCE_TRUSTED = / since (?:it|that) was trusted/;

/** Decides what of the sources that nobody has named may be offered: what a person has looked at, as long as it stays as it was. */
export class Trust {
  readonly file: TrustFile;
  readonly #options: TrustOptions;
  /** As they were when they were looked at last, by real folder; of each source only those that it has. */
  readonly #trees = new Map<string, Map<string, SkillTree>>();
  readonly #digests = new WeakMap<SkillTree, { readonly declared: string; readonly digests: Promise<TreeDigests> }>();

  /** By the source's real path: what is not written down yet, or could not be. */
  readonly #unwritten = new Map<string, TrustedSource>();
  #writing: Promise<void> = Promise.resolve();

  constructor(options: TrustOptions) {
    this.#options = options;
    this.file = new TrustFile(options.dataDirectory);
  }

  /** Resolves when everything is written down, or could not be. */
  close(): Promise<void> {
    return this.#writing;
  }

  /** The doubts about what one source holds now. The same `key` means the same doubts. */
  async judge(source: Source, scan: SourceScan): Promise<{ readonly doubts: Doubts; readonly key: string }> {
    if (source.trusted || scan.skills.size === 0) return { doubts: () => null, key: '' };
    const none = `its source ${source.label} is not trusted`;
    this.#forget(source, scan);
    const record = this.#recordOf(source) ?? (await this.#adopted(source, scan));
    if (record === null) return { doubts: () => none, key: none };
    const breather = new Breather();
    const reasons = new Map<string, string>();
    for (const found of scan.skills.values()) {
      const isUsable = found.parsed.valid || found.good !== null;
      const reason = isUsable ? await this.#whyNot(source, record, judgedOf(found), breather) : null;
      if (reason !== null) reasons.set(found.directory, reason);
    }
    return { doubts: ({ directory }) => reasons.get(directory) ?? null, key: JSON.stringify([...reasons]) };
  }

  /** Why that skill may not be used at this moment; null when it may. Looks at every file's stamp. */
  async whyNot(source: Source, skill: Judged): Promise<string | null> {
    if (source.trusted) return null;
    const record = this.#recordOf(source);
    return record === null ? `its source ${source.label} is not trusted` : this.#whyNot(source, record, skill, new Breather());
  }

  /** Whether these bytes are those of a file that was found trusted: it may have been another while it was read, and be the old one again. */
  async holds(source: Source, skill: Judged, file: string, sha256: string): Promise<boolean> {
    if (source.trusted) return true;
    const breather = new Breather();
    const { tree } = await this.#treeOf(source, skill, breather);
    const entry = tree.files.find((one) => one.path === path.basename(file));
    return entry !== undefined && (await fileDigest(placeOf(tree.directory, entry.path), entry, breather)) === sha256;
  }

  /** A skill as it is now, to be recorded. Rejects when its files cannot be read. */
  async look(
    source: Source,
    skill: Judged,
    breather = new Breather(),
  ): Promise<{ readonly tree: SkillTree; readonly trusted: TrustedTree }> {
    const tree = await this.#treeOf(source, skill, breather);
    return { tree, trusted: await this.#trustedOf(tree, skill, breather) };
  }

  async #trustedOf(tree: SkillTree, { declared }: Judged, breather: Breather): Promise<TrustedTree> {
    return { ...(await this.#digestsOf(tree, declared, breather)), stats: tree.settled ? tree.stats : '' };
  }

  async #whyNot(source: Source, record: TrustedSource, skill: Judged, breather: Breather): Promise<string | null> {
    const known = record.skills.get(folderOf(source, skill.directory));
    const asks = this.#options.mode === 'ask';
    const isNew = record.whole ? `it is new in ${source.label} since that was trusted` : `its source ${source.label} is not trusted`;
    if (known === undefined && (asks || !record.whole)) return isNew;
    try {
      const tree = await this.#treeOf(source, skill, breather);
      if (known !== undefined && tree.settled && tree.stats === known.stats) return null;
      const now = await this.#trustedOf(tree, skill, breather);
      if (known?.tree === now.tree) return null;
      if (asks) return CHANGED;
      const risks = changedRisks(known?.risk ?? '', now.risk);
      if (risks !== '') return known === undefined ? `${isNew}, and has ${risks}` : `its ${risks} ${CHANGED}`;
      if (known?.flagged?.tree === now.tree) return known.flagged.why;
      const warning = await this.#warningOf(skill, tree, now.risk !== '');
      const why = warning === null ? null : `${known === undefined ? isNew : `its text ${CHANGED}`}, and the scan found ${warning}`;
      const seen = why === null ? now : { ...(known ?? NEVER), flagged: { tree: now.tree, why } };
      const folder = folderOf(source, skill.directory);
      this.#record(source, (before) => {
        const isTrusted = before?.whole === true || before?.skills.has(folder) === true; // it may have been taken back meanwhile
        return isTrusted ? { ...before, skills: new Map([...before.skills, [folder, seen]]) } : before;
      });
      return why;
    } catch (error) {
      return `its files cannot be compared with what was trusted: ${messageOf(error)}`;
    }
  }

  /** What of a skill's texts a person should look at first; null: nothing, or nothing scans. What runs is theirs to look at in any case. */
  async #warningOf({ realDirectory }: Judged, { tree }: SkillTree, runs: boolean): Promise<string | null> {
    const findings = (await this.#options.inspect?.(realDirectory)) ?? [];
    const isText = (file: string) => !tree.entries.some((entry) => entry.path === file && isRisky(entry, runs));
    const [worst] = findings.filter(({ severity, file }) => severity === 'high' && isText(file));
    return worst === undefined ? null : `${worst.file}:${worst.line} ${worst.message}`;
  }

  /** What was trusted with the project is recorded as it is when it is looked at first; null: nothing was. */
  async #adopted(source: Source, { skills }: SourceScan): Promise<TrustedSource | null> {
    if (source.trustedWithProject !== true || this.file.read().problem !== null) return null;
    const breather = new Breather();
    const trees: [string, TrustedTree][] = [];
    for (const found of skills.values()) {
      const looked = await this.look(source, judgedOf(found), breather).catch(() => null); // it waits, and its reason says so
      if (looked !== null) trees.push([folderOf(source, found.directory), looked.trusted]);
    }
    const at = new Date(this.#options.clock.now()).toISOString();
    this.#record(source, (before) => before ?? { whole: true, withProject: true, at, skills: new Map(trees) });
    return this.#recordOf(source);
  }

  /** Counts in this process at once: a lock or a full disk keeps nobody from their skills. */
  #record(source: Source, change: (before: TrustedSource | null) => TrustedSource | null): void {
    const place = realOf(source.directory) ?? source.directory;
    const now = change(this.#recordOf(source));
    if (now !== null) this.#unwritten.set(place, now);
    this.#writing = this.#writing.then(async () => {
      try {
        await this.file.change(place, this.#options.clock, change);
        if (this.#unwritten.get(place) === now) this.#unwritten.delete(place);
      } catch (error) {
        this.#options.logger.warn('what is trusted of skills was not written down', { file: this.file.file, why: messageOf(error) });
      }
    });
  }

  #recordOf({ directory, trustedWithProject }: Source): TrustedSource | null {
    const place = realOf(directory) ?? directory;
    const record = this.#unwritten.get(place) ?? this.file.read().sources.get(place) ?? null;
    return record?.withProject === true && trustedWithProject !== true ? null : record;
  }

  async #treeOf({ directory }: Source, { realDirectory }: Judged, breather: Breather): Promise<SkillTree> {
    const trees = this.#trees.get(directory) ?? new Map<string, SkillTree>();
    this.#trees.set(directory, trees);
    const tree = await readTree(realDirectory, trees.get(realDirectory) ?? null, this.#options.clock.now(), breather);
    trees.set(realDirectory, tree);
    return tree;
  }

  #forget({ directory }: Source, { skills }: SourceScan): void {
    const trees = this.#trees.get(directory);
    if (trees === undefined || trees.size <= skills.size) return;
    const here = new Set([...skills.values()].map(({ realDirectory }) => realDirectory));
    for (const gone of [...trees.keys()].filter((folder) => !here.has(folder))) trees.delete(gone);
  }

  #digestsOf(tree: SkillTree, declared: Declared, breather: Breather): Promise<TreeDigests> {
    const key = JSON.stringify([declared.scripts, declared.toolsets]);
    const known = this.#digests.get(tree);
    if (known?.declared === key) return known.digests;
    const digests = digestTree(tree, declared, breather);
    this.#digests.set(tree, { declared: key, digests });
    digests.catch(() => this.#digests.delete(tree));
    return digests;
  }
}

/** Stands for a skill that nobody has looked at yet. */
const NEVER: TrustedTree = { tree: '', risk: '', stats: '' };

/** A skill's folder relative to its source. */
export function folderOf({ directory }: Source, skill: string): string {
  return skill.slice(directory.length + 1);
}

export function judgedOf({ directory, realDirectory, parsed }: FoundSkill): Judged {
  return { directory, realDirectory, declared: parsed.fields };
}
