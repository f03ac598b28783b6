import { setImmediate } from 'node:timers/promises';
import type { Diagnostic } from 'pith';
import { emptyFolders, holdsTheSame, readFolder, realOf } from './folder.ts';
import {
  folderUnreadable,
  linkBroken,
  linkRefused,
  noSkillFile,
  NO_SKILL_FILE,
  skillAtRoot,
  skillUnreadable,
  sourceLeadsOut,
  sourceMissing,
  sourceNotAsked,
  sourceTooLarge,
} from './scan-findings.ts';
import type { FoundDirectory, FoundSkill, ScanOptions, SourceScan } from './found.ts';
import { hasLinks, isWhereItWas, revisit } from './revisit.ts';
import { SkillReader } from './skill-reader.ts';
import { isInside, type Source } from './sources.ts';
import { isSame, isSettled, stampOf, statOf, type Stats } from './stamp.ts';

export const DEPTH_LIMIT = 5;
export const DIRECTORY_LIMIT = 20_000;
/** Work between two yields: a stat counts 1. About 3 ms, and several such pieces of work may run by turns. */
const SLICE = 800;
const READ_COST = 8;

/** What is found in a default source that does not exist. */
export const NOTHING: SourceScan = {
  skills: new Map(),
  directories: new Map(),
  diagnostics: [],
  read: [],
  recent: new Set(),
  revisited: false,
};

/** Looks for skills below one source. Returns `previous` itself when nothing changed. */
export async function scanSource(source: Source, previous: SourceScan | null, options: ScanOptions): Promise<SourceScan> {
  const stats = statOf(source.directory);
  if (stats === undefined && !source.configured) return NOTHING; // most of them: they cost this one look
  if (previous !== null && stats?.isDirectory() === true && !hasLinks(previous) && isWhereItWas(source, previous)) {
    const again = await revisit(previous, allIn(previous), new SkillReader(rootsOf(source, options), options));
    if (again !== null) return again;
  }
  return new Scan(source, previous, options).run(stats);
}

/** Looks again at some folders of a source, which is where it was. Looks at all of it when it is not only skill files that changed. */
export async function scanAgain(source: Source, previous: SourceScan, paths: Iterable<string>, options: ScanOptions): Promise<SourceScan> {
  const again = await revisit(previous, paths, new SkillReader(rootsOf(source, options), options));
  return again ?? new Scan(source, previous, options).run(statOf(source.directory));
}

function* allIn({ directories, skills }: SourceScan): Generator<string> {
  yield* directories.keys();
  yield* skills.keys();
}

/** Where links of the source may lead. */
function rootsOf({ directory }: Source, { trustedLinks }: ScanOptions): readonly string[] {
  return [directory, ...trustedLinks].map((path) => realOf(path) ?? path);
}

interface Visit {
  readonly path: string;
  /** The path without links. */
  readonly real: string;
  readonly depth: number;
}

class Scan {
  private readonly source: Source;
  private readonly previous: SourceScan | null;
  private readonly options: ScanOptions;
  private readonly skills = new Map<string, FoundSkill>();
  private readonly directories = new Map<string, FoundDirectory>();
  private readonly diagnostics: Diagnostic[] = [];
  private readonly read: FoundSkill[] = [];
  private readonly recent = new Set<string>();
  private readonly seen = new Set<string>();
  private readonly links: Visit[] = [];
  private roots: readonly string[] = [];
  private reader: SkillReader;
  private spent = 0;
  private visited = 0;
  private changed = false;

  constructor(source: Source, previous: SourceScan | null, options: ScanOptions) {
    this.source = source;
    this.previous = previous;
    this.options = options;
    this.reader = new SkillReader([], options);
  }

  async run(stats: Stats | undefined): Promise<SourceScan> {
    const root = this.source.directory;
    if (stats === undefined || !stats.isDirectory()) {
      if (this.source.configured) this.diagnostics.push(sourceMissing(this.source, stats !== undefined));
    } else {
      const [real = root, ...trusted] = rootsOf(this.source, this.options);
      this.roots = [real, ...trusted];
      this.reader = new SkillReader(this.roots, this.options);
      const { within } = this.source;
      if (within !== undefined && real !== root && ![realOf(within) ?? within, ...trusted].some((place) => isInside(real, place))) {
        this.diagnostics.push(sourceLeadsOut(this.source, real));
        return this.result();
      }
      await this.descend([{ path: root, real, depth: 0 }]);
      for (let link = this.links.shift(); link !== undefined; link = this.links.shift()) await this.follow(link);
      this.diagnostics.push(...this.emptyFolderNotes(), ...(this.source.trustedBySettings ? [sourceNotAsked(this.source)] : []));
    }
    return this.result();
  }

  private result(): SourceScan {
    const { previous } = this;
    if (previous !== null && this.holdsTheSame(previous) && sameDiagnostics(previous.diagnostics, this.diagnostics)) {
      previous.recent.clear();
      for (const path of this.recent) previous.recent.add(path);
      return previous;
    }
    const { skills, directories, diagnostics, read, recent } = this;
    return { skills, directories, diagnostics, read, recent, revisited: false };
  }

  private holdsTheSame({ skills, directories }: SourceScan): boolean {
    return !this.changed && skills.size === this.skills.size && directories.size === this.directories.size;
  }

  private emptyFolderNotes(): readonly Diagnostic[] {
    const { previous } = this;
    if (previous !== null && this.holdsTheSame(previous)) return previous.diagnostics.filter(({ code }) => code === NO_SKILL_FILE);
    const empty = emptyFolders(this.skills, this.directories);
    return empty.filter((path) => path !== this.source.directory).map(noSkillFile);
  }

  private async descend(stack: Visit[]): Promise<void> {
    for (let visit = stack.pop(); visit !== undefined; visit = stack.pop()) {
      if (this.spent > SLICE) {
        this.spent = 0;
        await setImmediate();
      }
      if (this.visited >= DIRECTORY_LIMIT) {
        this.diagnostics.push(sourceTooLarge(this.source, DIRECTORY_LIMIT));
        return;
      }
      this.visited += 1;
      if (this.seen.has(visit.real)) continue;
      this.seen.add(visit.real);
      if (visit.depth > 0 && ((await this.takeSkill(visit, 'SKILL.md')) || (await this.takeKnown(visit)))) continue;
      await this.open(visit, stack);
    }
  }

  /** A skill file in another case, found by an earlier scan. */
  private async takeKnown(visit: Visit): Promise<boolean> {
    const fileName = this.previous?.skills.get(visit.path)?.file.slice(visit.path.length + 1);
    return fileName !== undefined && fileName !== 'SKILL.md' && this.takeSkill(visit, fileName);
  }

  /** A folder without SKILL.md: its children come next. */
  private async open(visit: Visit, stack: Visit[]): Promise<void> {
    const folder = this.listing(visit.path);
    if (folder === null) return;
    if (folder.oddFile !== null && visit.depth > 0 && (await this.takeSkill(visit, folder.oddFile))) return;
    this.directories.set(visit.path, folder);
    if (visit.depth > 0 && folder.oddFile !== null) {
      this.diagnostics.push(skillUnreadable(`${visit.path}/${folder.oddFile}`));
    }
    if (visit.depth === 0 && folder.oddFile !== null) {
      this.diagnostics.push(skillAtRoot(`${visit.path}/${folder.oddFile}`));
    }
    if (visit.depth >= DEPTH_LIMIT) return;
    for (const name of folder.children)
      stack.push({ path: `${visit.path}/${name}`, real: `${visit.real}/${name}`, depth: visit.depth + 1 });
    for (const name of folder.links) this.links.push({ path: `${visit.path}/${name}`, real: '', depth: visit.depth + 1 });
  }

  private async follow(link: Visit): Promise<void> {
    const stats = statOf(link.path);
    if (stats !== undefined && !stats.isDirectory()) return;
    const real = realOf(link.path);
    if (real === null) {
      this.diagnostics.push(linkBroken(link.path));
    } else if (!this.roots.some((root) => isInside(real, root))) {
      this.diagnostics.push(linkRefused(link.path, this.source, this.options.ownerOf?.(real)));
    } else if (!this.seen.has(real)) {
      await this.descend([{ path: link.path, real, depth: link.depth }]);
    }
  }

  /** True when `fileName` in that folder is a skill file, which is then in the result. */
  private async takeSkill({ path, real }: Visit, fileName: string): Promise<boolean> {
    const file = `${path}/${fileName}`;
    this.spent += 1;
    const stats = statOf(file);
    if (stats === undefined || stats.isDirectory()) return false;
    const place = { path, real, file, stats };
    const before = this.previous?.skills.get(path);
    if (this.reader.isKnown(place, before)) {
      this.skills.set(path, before);
      return true;
    }
    this.spent += READ_COST;
    const found = await this.reader.read(place, before);
    this.skills.set(path, found);
    if (!found.settled) this.recent.add(path);
    if (found === before) return true;
    this.read.push(found);
    this.changed = true;
    return true;
  }

  private listing(path: string): FoundDirectory | null {
    const stats = statOf(path);
    this.spent += 1;
    if (stats === undefined) return null; // gone since its parent was read
    const before = this.previous?.directories.get(path);
    const same = before !== undefined && isSame(before.stamp, stats);
    if (same && before.settled) return before;
    this.spent += READ_COST;
    try {
      const folder = readFolder(path);
      const settled = isSettled(stampOf(stats), this.options.now());
      if (!settled) this.recent.add(path);
      if (same && holdsTheSame(before, folder)) {
        before.settled = settled;
        return before;
      }
      this.changed = true;
      return { stamp: stampOf(stats), settled, ...folder };
    } catch (error) {
      this.changed ||= !same;
      this.recent.add(path);
      this.diagnostics.push(folderUnreadable(path, this.source, String(error)));
      return { stamp: stampOf(stats), settled: false, children: [], links: [], oddFile: null, hasFiles: false };
    }
  }
}

function sameDiagnostics(a: readonly Diagnostic[], b: readonly Diagnostic[]): boolean {
  return a.length === b.length && a.every((one, index) => one.code === b[index]?.code && one.file === b[index]?.file);
}
