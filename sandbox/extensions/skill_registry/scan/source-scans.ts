import type { Clock, Diagnostic } from 'pith';
import type { KeptScans } from './kept-scans.ts';
import type { Skill } from '../skill.ts';
import type { DraftRecords } from '../drafts/draft-records.ts';
import type { DistrustOf, Trust } from '../trust/trust.ts';
import { isInside } from '@pith/safe-files';
import {
  type FoundSkill,
  NOTHING_FOUND,
  realOf,
  type ScanOptions,
  scanSource,
  type SkillBody,
  type SourceScan,
  statOf,
} from '@pith/skill-files';
import type { Source } from './sources.ts';

/** One source, what it holds, and what of that is not trusted. */
export interface SourcedScan {
  readonly source: Source;
  readonly scan: SourceScan;
  readonly distrustOf?: DistrustOf;
}

export interface SourceScansOptions {
  readonly sources: readonly Source[];
  readonly trustedLinks: readonly string[];
  readonly trust: Trust;
  readonly drafts: DraftRecords;
  readonly clock: Clock;
  readonly goodBody: (file: string) => SkillBody | null;
  readonly kept: KeptScans;
}

/** What one look found. */
export interface Look {
  readonly changed: boolean;
  readonly read: readonly FoundSkill[];
}

type Checked = Awaited<ReturnType<Trust['check']>>;

/** What all sources held when they were looked at last. */
export class SourceScans {
  readonly #options: SourceScansOptions;
  /** By the source's directory. */
  #scans: ReadonlyMap<string, SourceScan> = new Map();
  #checks: ReadonlyMap<string, Checked> = new Map();
  /** null: to be gathered from the scans. */
  #folders: ReadonlySet<string> | null = null;
  readonly #scanOptions: ScanOptions;
  /** False before the first look. */
  #hasLooked = false;
  #isKept = true;

  constructor(options: SourceScansOptions) {
    this.#options = options;
    const { sources, trustedLinks, clock, goodBody } = options;
    this.#scanOptions = { trustedLinks, now: () => clock.now(), goodBody, ownerOf: (real) => ownerOf(sources, real), cures: CURES };
  }

  /** Looks at every source. */
  async look(): Promise<Look> {
    const { sources, trust, kept, drafts } = this.#options;
    const isRestored = !this.#hasLooked;
    const known = isRestored ? kept.read() : this.#scans;
    const scanOptions = { ...this.#scanOptions, isRestored };
    const [scans, checks] = [new Map<string, SourceScan>(), new Map<string, Checked>()];
    const taken = new Map<string, Source>();
    const read: FoundSkill[] = [];
    let [found, differs] = [false, false];
    for (const source of byRank(sources)) {
      const { directory } = source;
      const before = known.get(directory) ?? (source.configured ? null : NOTHING_FOUND);
      const place = placeOf(directory);
      const other = taken.get(place);
      const scan = other === undefined ? await scanSource(source, before, scanOptions) : again(before, sourceTwice(source, other));
      if (place !== '') taken.set(place, other ?? source);
      const checked = source.holdsDrafts === true ? await draftsIn(scan, drafts) : await trust.check(source, scan);
      scans.set(directory, scan);
      checks.set(directory, checked);
      if (scan !== before) read.push(...scan.read);
      found ||= scan !== before;
      differs ||= checked.key !== (this.#checks.get(directory)?.key ?? '');
    }
    this.#scans = scans;
    this.#checks = checks;
    this.#hasLooked = true;
    if (found) this.#isKept = false;
    if (found) this.#folders = null;
    return { changed: found || differs, read };
  }

  /** Writes down what was found, where it is not what the file has: the next start reads only what changed since. */
  async keep(): Promise<void> {
    if (this.#isKept) return;
    this.#isKept = true;
    await this.#options.kept.write(this.#scans);
  }

  /** Takes down how many tokens the body has. */
  count(found: FoundSkill, tokens: number): void {
    found.bodyTokens = tokens;
    this.#isKept = false;
  }

  /** In order of precedence, lowest first. */
  sourced(): readonly SourcedScan[] {
    return this.#options.sources.map((source) => ({
      source,
      scan: this.#scans.get(source.directory) ?? NOTHING_FOUND,
      distrustOf: this.#checks.get(source.directory)?.distrustOf,
    }));
  }

  /** Findings beside those of the scans. */
  findings(): readonly Diagnostic[] {
    const { sources, trust, kept } = this.#options;
    const has = ({ directory }: Source) => this.#scans.get(directory)?.skills.size;
    const found = sources.filter(({ trustedBySettings, directory }) => trustedBySettings && this.#scans.get(directory)?.directories.size);
    const { problem } = sources.some((source) => !source.trusted && has(source)) ? trust.store.file.read() : { problem: null };
    return [...kept.findings(), ...found.map(sourceNotAsked), ...(problem === null ? [] : [trustUnusable(trust.store.file.file, problem)])];
  }

  /** What the last look found of a skill; undefined when it has changed since the skill was made. */
  foundOf({ directory, stamp }: Skill): FoundSkill | undefined {
    for (const { skills } of this.#scans.values()) {
      const found = skills.get(directory);
      if (found !== undefined) return found.stamp === stamp ? found : undefined;
    }
    return undefined;
  }

  /** The folders on which what is known depends: the same set until that changes. */
  folders(): ReadonlySet<string> {
    if (this.#folders !== null) return this.#folders;
    const folders = new Set(this.#options.sources.map(({ directory }) => directory));
    for (const { skills, directories } of this.#scans.values())
      for (const rows of [directories, skills]) for (const folder of rows.keys()) folders.add(folder);
    this.#folders = folders;
    return folders;
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
  return same ? before : { ...NOTHING_FOUND, diagnostics: [finding] };
}

/** Who wrote each draft. */
async function draftsIn({ skills }: SourceScan, records: DraftRecords): Promise<Checked> {
  const reasons = new Map<string, string>();
  for (const { directory, id } of skills.values()) {
    const { authorOf } = await import('../drafts/draft-author.ts'); // mostly there are no drafts
    reasons.set(directory, authorOf(records.of(id)));
  }
  return { distrustOf: ({ directory }) => ({ reason: reasons.get(directory) ?? '', isChange: false }), key: JSON.stringify([...reasons]) };
}

/** Which folder of the file system that is; '' for none. */
function placeOf(directory: string): string {
  const stats = statOf(directory);
  return stats === undefined ? '' : `${stats.dev} ${stats.ino}`;
}

const CURES = {
  link: 'list the target under skills.trusted_links',
  source: 'name it under skills.sources, or list the target under skills.trusted_links',
};

function sourceTwice({ label, directory }: Source, other: Source): Diagnostic {
  const message = `the skill source '${label}' is the same folder as '${other.label}', where its skills are listed`;
  return { severity: 'info', code: 'source_twice', message, file: directory };
}

function sourceNotAsked({ label, directory }: Source): Diagnostic {
  return {
    severity: 'info',
    code: 'source_trusted_by_settings',
    message: `the settings name the project's own '${label}' under skills.sources: its skills are trusted without being asked, also when they change`,
    file: directory,
    cure: `take it out of skills.sources, and to be asked of changes, run: pith skills trust ${label}`,
  };
}

function trustUnusable(file: string, problem: string): Diagnostic {
  const cure = 'remove the file, and trust again what you trust: pith skills trust <source>';
  return { severity: 'warning', code: 'trust_unusable', message: `nothing that was trusted counts: ${problem}`, file, cure };
}
