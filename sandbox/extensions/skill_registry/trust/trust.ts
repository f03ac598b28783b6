import path from 'node:path';
import type { Clock } from 'pith';
import { Breather, fileDigest, placeOf, realOf } from '@pith/skill-files';
import type { FoundSkill, SourceScan } from '../scan/found.ts';
import type { Source } from '../scan/sources.ts';
import { type Declared, digestTree, readTree, type SkillTree, type TreeDigests } from './skill-tree.ts';
import { type TrustedSource, type TrustedTree, TrustFile } from './trust-file.ts';

/** `ask`: every change of a trusted skill is looked at by a person. `auto`: only one of links, scripts and toolsets. */
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
}

/** What to do about a doubt. */
export const TRUST_CURE = "look at it and trust it: pith skills trust <source>, with the source that 'pith skills list --all' shows";
/** How the reason of a skill ends that was trusted and is another now. */
export const CHANGED = 'changed since it was trusted';

/** Decides what of the sources that nobody has named may be offered: what a person has looked at, as long as it stays as it was. */
export class Trust {
  readonly file: TrustFile;
  readonly #options: TrustOptions;
  /** As they were when they were looked at last, by real folder; of each source only those that it has. */
  readonly #trees = new Map<string, Map<string, SkillTree>>();
  readonly #digests = new WeakMap<SkillTree, { readonly declared: string; readonly digests: Promise<TreeDigests> }>();

  constructor(options: TrustOptions) {
    this.#options = options;
    this.file = new TrustFile(options.dataDirectory);
  }

  /** The doubts about what one source holds now. The same `key` means the same doubts. */
  async judge(source: Source, scan: SourceScan): Promise<{ readonly doubts: Doubts; readonly key: string }> {
    if (source.trusted || scan.skills.size === 0) return { doubts: () => null, key: '' };
    const record = this.#recordOf(source);
    const none = `its source ${source.label} is not trusted`;
    this.#forget(source, scan);
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
    if (source.trusted || this.#options.mode === 'auto') return true; // by `auto` every text is
    const breather = new Breather();
    const { tree } = await this.#treeOf(source, skill, breather);
    const entry = tree.files.find((one) => one.path === path.basename(file));
    return entry !== undefined && (await fileDigest(placeOf(tree.directory, entry.path), entry, breather)) === sha256;
  }

  /** A skill as it is now, to be recorded. Rejects when its files cannot be read. */
  async look(source: Source, skill: Judged): Promise<{ readonly tree: SkillTree; readonly trusted: TrustedTree }> {
    const breather = new Breather();
    const tree = await this.#treeOf(source, skill, breather);
    return { tree, trusted: { ...(await this.#digestsOf(tree, skill.declared, breather)), stats: tree.settled ? tree.stats : '' } };
  }

  async #whyNot(source: Source, record: TrustedSource, skill: Judged, breather: Breather): Promise<string | null> {
    const known = record.skills.get(folderOf(source, skill.directory));
    const asks = this.#options.mode === 'ask';
    const isNew = record.whole ? `it is new in ${source.label} since that was trusted` : `its source ${source.label} is not trusted`;
    if (known === undefined && (asks || !record.whole)) return isNew;
    try {
      const tree = await this.#treeOf(source, skill, breather);
      if (known !== undefined && tree.settled && tree.stats === known.stats) return null;
      const now = await this.#digestsOf(tree, skill.declared, breather);
      if (known === undefined) return now.risk === '' ? null : `${isNew}, and has links, scripts or toolsets`;
      if (asks) return now.tree === known.tree ? null : CHANGED;
      return now.risk === known.risk ? null : `its links, scripts or toolsets ${CHANGED}`;
    } catch (error) {
      return `its files cannot be compared with what was trusted: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  #recordOf({ directory }: Source): TrustedSource | null {
    return this.file.read().sources.get(realOf(directory) ?? directory) ?? null;
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

/** A skill's folder relative to its source. */
export function folderOf({ directory }: Source, skill: string): string {
  return skill.slice(directory.length + 1);
}

export function judgedOf({ directory, realDirectory, parsed }: FoundSkill): Judged {
  return { directory, realDirectory, declared: parsed.fields };
}
