import type { Clock, Diagnostic } from 'pith';
import type { SkillBody } from '../body.ts';
import type { Skill } from '../skill.ts';
import type { Doubts, Trust } from '../trust/trust.ts';
import { realOf } from './folder.ts';
import type { FolderGroup } from './watch.ts';
import type { FoundSkill, ScanOptions, SourceScan } from './found.ts';

import { sourceTwice, trustUnusable } from './scan-findings.ts';
import { hasLinks } from './revisit.ts';
import { RowMap } from './row-map.ts';
import { NOTHING, scanAgain, scanSource } from './scan.ts';
import { isInside, type Source } from './sources.ts';
import { statOf, toFileStamp, versionOf } from './stamp.ts';

/** One source, what it holds, and why what it holds is not trusted. */
export interface SourcedScan {
  readonly source: Source;
  readonly scan: SourceScan;
  readonly doubts?: Doubts;
}

export interface SourceScansOptions {
  readonly sources: readonly Source[];
  readonly trustedLinks: readonly string[];
  readonly trust: Trust;
  readonly clock: Clock;
  readonly goodBody: (file: string) => SkillBody | null;
}

/** What one look found. */
export interface Look {
  readonly changed: boolean;
  /** The files are others than were known, and not only the doubts about them. */
  readonly found: boolean;
  readonly read: readonly FoundSkill[];
  /** The skills whose text is another, where nothing else changed; null where something did. */
  readonly edited: readonly FoundSkill[] | null;
}

class Tally {
  private doubted = false;
  private found = false;
  private onlyTexts = true;
  private readonly read: FoundSkill[] = [];

  add(before: SourceScan | null, scan: SourceScan, doubted: boolean): void {
    if (scan !== before) this.read.push(...scan.read);
    if (scan !== before && !scan.revisited) this.onlyTexts = false;
    if (doubted) this.onlyTexts = false;
    this.doubted ||= doubted;
    this.found ||= scan !== before && (!scan.revisited || scan.read.length > 0);
  }

  look(): Look {
    const { doubted, found, read, onlyTexts } = this;
    return { changed: doubted || found, found, read, edited: onlyTexts ? read : null };
  }
}

interface Judgement {
  readonly doubts: Doubts;
  readonly key: string;
}

/** What all sources held when they were looked at last. */
export class SourceScans {
  readonly #options: SourceScansOptions;
  /** By the source's directory. */
  #scans: ReadonlyMap<string, SourceScan> = new Map();
  #judgements: ReadonlyMap<string, Judgement> = new Map();
  /** Which folder of the file system each source was, '' for none. */
  #places: ReadonlyMap<string, string> = new Map();
  readonly #groups = new Map<string, Pick<SourceScan, 'skills' | 'directories'> & { readonly group: FolderGroup }>();
  readonly #scanOptions: ScanOptions;

  constructor(options: SourceScansOptions) {
    this.#options = options;
    const { sources, trustedLinks, clock, goodBody } = options;
    this.#scanOptions = { trustedLinks, now: () => clock.now(), goodBody, ownerOf: (real) => ownerOf(sources, real) };
  }

  /** What an earlier process knew. */
  restore(scans: ReadonlyMap<string, SourceScan>): void {
    this.#scans = scans;
  }

  /** Looks at these folders and at what changed just before the last look; at every source where only that tells what is there. */
  async look(folders: readonly string[] | null = null): Promise<Look> {
    return (folders === null ? null : await this.#lookAt(new Set(folders))) ?? this.#lookEverywhere();
  }

  async #lookEverywhere(): Promise<Look> {
    const { sources } = this.#options;
    const [scans, judgements, places] = [new Map<string, SourceScan>(), new Map<string, Judgement>(), new Map<string, string>()];
    const taken = new Map<string, Source>();
    const tally = new Tally();
    for (const source of byRank(sources)) {
      const { directory } = source;
      const before = this.#scans.get(directory) ?? (source.configured ? null : NOTHING);
      const place = placeOf(directory);
      places.set(directory, place);
      if (place === '' && !source.configured) {
        scans.set(directory, NOTHING); // most of them: they cost this one look
        tally.add(before, NOTHING, false);
        continue;
      }
      const other = place === '' ? undefined : taken.get(place);
      const scan = other === undefined ? await scanSource(source, before, this.#scanOptions) : again(before, sourceTwice(source, other));
      if (place !== '') taken.set(place, other ?? source);
      scans.set(directory, scan);
      tally.add(before, scan, await this.#judge(source, scan, judgements));
    }
    this.#scans = scans;
    this.#judgements = judgements;
    this.#places = places;
    return tally.look();
  }

  /** null where a source is no longer the folder that it was. */
  async #lookAt(folders: ReadonlySet<string>): Promise<Look | null> {
    const [scans, judgements] = [new Map(this.#scans), new Map(this.#judgements)];
    const tally = new Tally();
    for (const source of this.#options.sources) {
      const { directory } = source;
      if (folders.has(directory) && placeOf(directory) !== this.#places.get(directory)) return null;
      const before = scans.get(directory);
      if (before === undefined || before.directories.size === 0) continue;
      const asked = [...folders].filter((folder) => before.skills.has(folder) || before.directories.has(folder));
      if (asked.length === 0 && before.recent.size === 0) continue;
      const scan = isWatchable(source, before)
        ? await scanAgain(source, before, new Set([...asked, ...before.recent]), this.#scanOptions)
        : await scanSource(source, before, this.#scanOptions);
      scans.set(directory, scan);
      tally.add(before, scan, await this.#judge(source, scan, judgements));
    }
    this.#scans = scans;
    this.#judgements = judgements;
    return tally.look();
  }

  /** True when there are other doubts than before. */
  async #judge(source: Source, scan: SourceScan, into: Map<string, Judgement>): Promise<boolean> {
    const judged = await this.#options.trust.judge(source, scan);
    into.set(source.directory, judged);
    return judged.key !== (this.#judgements.get(source.directory)?.key ?? '');
  }

  /** In order of precedence, lowest first. */
  sourced(): readonly SourcedScan[] {
    return this.#options.sources.map((source) => ({
      source,
      scan: this.#scans.get(source.directory) ?? NOTHING,
      doubts: this.#judgements.get(source.directory)?.doubts,
    }));
  }

  /** Findings that belong to no source. */
  findings(): readonly Diagnostic[] {
    const { sources, trust } = this.#options;
    if (!sources.some((source) => !source.trusted && this.#scans.get(source.directory)?.skills.size)) return [];
    const { problem } = trust.file.read();
    return problem === null ? [] : [trustUnusable(trust.file.file, problem)];
  }

  /** What the last look found of a skill; undefined when it has changed since the skill was made. */
  foundOf({ directory, stamp }: Skill): FoundSkill | undefined {
    for (const { skills } of this.#scans.values()) {
      const found = skills.get(directory);
      if (found !== undefined) return versionOf(toFileStamp(found.stamp)) === versionOf(stamp) ? found : undefined;
    }
    return undefined;
  }

  /** The folders on which what is known depends: the same values as long as they are the same folders. */
  groups(): readonly FolderGroup[] {
    return this.#options.sources.map((source) => this.#groupOf(source));
  }

  #groupOf(source: Source): FolderGroup {
    const { directory } = source;
    const scan = this.#scans.get(directory) ?? NOTHING;
    const known = this.#groups.get(directory);
    if (known !== undefined && isKeyedAs(scan.skills, known.skills) && isKeyedAs(scan.directories, known.directories)) return known.group;
    const folders = [...new Set([directory, ...scan.directories.keys(), ...scan.skills.keys()])];
    const group = { root: directory, folders, isTold: isWatchable(source, scan) && !hasLinks(scan) };
    this.#groups.set(directory, { ...scan, group });
    return group;
  }
}

/** Of two sources that are one folder the trusted one counts, then the one of higher precedence. */
function byRank(sources: readonly Source[]): readonly Source[] {
  const falling = [...sources].reverse();
  return [...falling.filter(({ trusted }) => trusted), ...falling.filter(({ trusted }) => !trusted)];
}

function ownerOf(sources: readonly Source[], real: string): string | undefined {
  return sources.find(({ directory }) => isInside(real, realOf(directory) ?? directory))?.label;
}

function again(before: SourceScan | null, finding: Diagnostic): SourceScan {
  const same = before?.skills.size === 0 && before.diagnostics[0]?.message === finding.message;
  return same
    ? before
    : { skills: new Map(), directories: new Map(), diagnostics: [finding], read: [], recent: new Set(), revisited: false };
}

function placeOf(directory: string): string {
  const stats = statOf(directory);
  return stats === undefined ? '' : `${stats.dev} ${stats.ino}`;
}

/** Whether hints about its folders tell everything: what is trusted as it was looked at depends on files below them too. */
function isWatchable({ trusted }: Source, { skills }: SourceScan): boolean {
  return trusted || skills.size === 0;
}

/** True when these are the same keys because the one was made from the other. */
function isKeyedAs(rows: ReadonlyMap<string, unknown>, before: ReadonlyMap<string, unknown>): boolean {
  return rows === before || (rows instanceof RowMap && rows.hasKeysOf(before));
}
