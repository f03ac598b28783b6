import type { Clock, Diagnostic } from 'pith';
import type { SkillBody } from '../body.ts';
import type { Skill } from '../skill.ts';
import type { Doubts, Trust } from '../trust/trust.ts';
import { realOf } from './folder.ts';
import type { FoundSkill, SourceScan } from './found.ts';
import { sourceTwice, trustUnusable } from './scan-findings.ts';
import { NOTHING, scanSource } from './scan.ts';
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

/** What all sources held when they were looked at last. */
export class SourceScans {
  readonly #options: SourceScansOptions;
  /** By the source's directory. */
  #scans: ReadonlyMap<string, SourceScan> = new Map();
  #doubts: ReadonlyMap<string, { readonly doubts: Doubts; readonly key: string }> = new Map();

  constructor(options: SourceScansOptions) {
    this.#options = options;
  }

  /** What an earlier process knew. */
  restore(scans: ReadonlyMap<string, SourceScan>): void {
    this.#scans = scans;
  }

  /** Looks at every source. True when something is different from before. */
  async look(): Promise<boolean> {
    const { sources, trust, trustedLinks, clock, goodBody } = this.#options;
    const scans = new Map<string, SourceScan>();
    const doubts = new Map<string, { readonly doubts: Doubts; readonly key: string }>();
    const taken = new Map<string, Source>();
    let changed = false;
    for (const source of byRank(sources)) {
      const { directory } = source;
      const before = this.#scans.get(directory) ?? (source.configured ? null : NOTHING);
      const stats = statOf(directory);
      if (stats === undefined && !source.configured) {
        scans.set(directory, NOTHING); // most of them: they cost this one look
        changed ||= before !== NOTHING;
        continue;
      }
      const place = stats === undefined ? directory : `${stats.dev} ${stats.ino}`;
      const other = taken.get(place);
      const scan =
        other === undefined
          ? await scanSource(source, before, { trustedLinks, now: () => clock.now(), goodBody, ownerOf: (real) => ownerOf(sources, real) })
          : again(before, sourceTwice(source, other));
      taken.set(place, other ?? source);
      scans.set(directory, scan);
      const judged = await trust.judge(source, scan);
      doubts.set(directory, judged);
      changed ||= scan !== before || judged.key !== (this.#doubts.get(directory)?.key ?? '');
    }
    this.#scans = scans;
    this.#doubts = doubts;
    return changed;
  }

  /** In order of precedence, lowest first. */
  sourced(): readonly SourcedScan[] {
    return this.#options.sources.map((source) => ({
      source,
      scan: this.#scans.get(source.directory) ?? NOTHING,
      doubts: this.#doubts.get(source.directory)?.doubts,
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

  /** Everything that was found, in no order. */
  all(): readonly SourceScan[] {
    return [...this.#scans.values()];
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
  return same ? before : { skills: new Map(), directories: new Map(), diagnostics: [finding], read: [] };
}
