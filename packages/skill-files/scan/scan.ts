import { readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { isInside, isNothingThere, isPassing } from '@pith/safe-files';
import type { Diagnostic } from '../format/skill-file.ts';
import { isSame, isSettled, realOf, stampOf, statOf, type Stats } from '../tree/stamp.ts';
import {
  folderUnreadable,
  linkBroken,
  linkRefused,
  noSkillFile,
  NO_SKILL_FILE,
  skillAtRoot,
  skillIsFolder,
  skillUnreadable,
  sourceLeadsOut,
  sourceMissing,
  sourceTooLarge,
} from './scan-findings.ts';
import type { FoundDirectory, FoundSkill, ScanOptions, ScanSource, SourceScan } from './found.ts';
import { marksPlugin, pluginName } from './plugin.ts';
import { SkillReader, type SkillPlace } from './skill-reader.ts';

export const DEPTH_LIMIT = 5;
export const DIRECTORY_LIMIT = 20_000;
/** The work between two yields, where a stat counts 1. About 3 ms; several scans may take turns. */
const SLICE = 800;
const READ_COST = 8;

/** The result for a default source that does not exist. */
export const NOTHING_FOUND: SourceScan = { skills: new Map(), directories: new Map(), diagnostics: [], read: [] };

/** Finds the skills below one source, and reads those whose stamp has changed. Returns `previous` itself when nothing has changed. */
export async function scanSource(source: ScanSource, previous: SourceScan | null, options: ScanOptions): Promise<SourceScan> {
  const stats = statOf(source.directory);
  if (stats === undefined && !source.configured) return NOTHING_FOUND; // most default sources are missing: they cost this one stat
  return new Scan(source, previous, options).run(stats);
}

interface VisitedFolder {
  readonly path: string;
  /** The path with links resolved. */
  readonly real: string;
  readonly depth: number;
  readonly plugin: string | null;
}

class Scan {
  readonly #source: ScanSource;
  readonly #previous: SourceScan | null;
  readonly #options: ScanOptions;
  /** Where links may lead, the source itself first. */
  readonly #roots: readonly string[];
  readonly #reader: SkillReader;
  readonly #skills = new Map<string, FoundSkill>();
  readonly #directories = new Map<string, FoundDirectory>();
  readonly #diagnostics: Diagnostic[] = [];
  readonly #read: FoundSkill[] = [];
  readonly #seen = new Set<string>();
  readonly #links: VisitedFolder[] = [];
  #spent = 0;
  #visited = 0;
  #changed = false;

  constructor(source: ScanSource, previous: SourceScan | null, options: ScanOptions) {
    this.#source = source;
    this.#previous = previous;
    this.#options = options;
    this.#roots = [source.directory, ...options.trustedLinks].map((path) => realOf(path) ?? path);
    this.#reader = new SkillReader(this.#roots, options);
  }

  async run(stats: Stats | undefined): Promise<SourceScan> {
    const { directory: root, configured, within } = this.#source;
    const [real = root, ...trusted] = this.#roots;
    if (stats === undefined || !stats.isDirectory()) {
      if (configured) this.#diagnostics.push(sourceMissing(this.#source, stats !== undefined));
    } else if (within !== undefined && real !== root && ![realOf(within) ?? within, ...trusted].some((place) => isInside(real, place))) {
      this.#diagnostics.push(sourceLeadsOut(this.#source, real, this.#options.cures?.source));
    } else {
      let plugin: string | null;
      try {
        plugin = configured ? pluginAbove(root) : null;
      } catch (error) {
        this.#diagnostics.push(folderUnreadable(dirname(root), this.#source, String(error)));
        if (this.#previous !== null) return { ...this.#previous, diagnostics: this.#diagnostics, read: [] };
        plugin = null;
      }
      await this.#descend([{ path: root, real, depth: 0, plugin }]);
      for (let link = this.#links.shift(); link !== undefined; link = this.#links.shift()) await this.#follow(link);
      this.#diagnostics.push(...this.#emptyFolderNotes());
    }
    const previous = this.#previous;
    if (previous !== null && this.#holdsTheSame(previous) && sameDiagnostics(previous.diagnostics, this.#diagnostics)) return previous;
    return { skills: this.#skills, directories: this.#directories, diagnostics: this.#diagnostics, read: this.#read };
  }

  #holdsTheSame({ skills, directories }: SourceScan): boolean {
    return !this.#changed && skills.size === this.#skills.size && directories.size === this.#directories.size;
  }

  #emptyFolderNotes(): readonly Diagnostic[] {
    const previous = this.#previous;
    if (previous !== null && this.#holdsTheSame(previous)) return previous.diagnostics.filter(({ code }) => code === NO_SKILL_FILE);
    const empty = emptyFolders(this.#skills, this.#directories);
    return empty.filter((path) => path !== this.#source.directory).map(noSkillFile);
  }

  async #descend(stack: VisitedFolder[]): Promise<void> {
    for (let visit = stack.pop(); visit !== undefined; visit = stack.pop()) {
      if (this.#spent > SLICE) {
        this.#spent = 0;
        await setImmediate();
      }
      if (this.#visited >= DIRECTORY_LIMIT) {
        this.#diagnostics.push(sourceTooLarge(this.#source, DIRECTORY_LIMIT));
        return;
      }
      this.#visited += 1;
      if (this.#seen.has(visit.real)) continue;
      this.#seen.add(visit.real);
      const place = (visit.depth > 0 && this.#placeIn(visit, 'SKILL.md')) || this.#open(visit, stack);
      if (place !== null && !this.#keepKnown(place)) await this.#readSkill(place);
    }
  }

  /** The skill file of a folder; null where it has none, and its children come next. */
  #open(visit: VisitedFolder, stack: VisitedFolder[]): SkillPlace | null {
    const { path, real, depth } = visit;
    const known = depth > 0 ? this.#previous?.skills.get(path)?.file.slice(path.length + 1) : undefined; // a skill file spelt in another case
    const place = known === undefined ? null : this.#placeIn(visit, known);
    const folder = place === null ? this.#listing(path) : null;
    if (folder === null) return place;
    if (folder.oddFile !== null && depth > 0) {
      const odd = this.#placeIn(visit, folder.oddFile);
      if (odd !== null) return odd;
    }
    this.#directories.set(path, folder);
    if (folder.oddFile !== null) this.#diagnostics.push((depth > 0 ? skillUnreadable : skillAtRoot)(`${path}/${folder.oddFile}`));
    if (depth >= DEPTH_LIMIT) return null;
    const below = { depth: depth + 1, plugin: folder.plugin ?? visit.plugin };
    for (const name of folder.children) {
      const child = `${path}/${name}`;
      if (name.toLowerCase() === 'skill.md') this.#diagnostics.push(skillIsFolder(child));
      stack.push({ path: child, real: real === path ? child : `${real}/${name}`, ...below });
    }
    for (const name of folder.links) this.#links.push({ path: `${path}/${name}`, real: '', ...below });
    return null;
  }

  async #follow(link: VisitedFolder): Promise<void> {
    const stats = statOf(link.path);
    if (stats !== undefined && !stats.isDirectory()) return;
    const real = realOf(link.path);
    if (real === null) {
      this.#diagnostics.push(linkBroken(link.path));
    } else if (!this.#roots.some((root) => isInside(real, root))) {
      this.#diagnostics.push(
        linkRefused(link.path, this.#source, { other: this.#options.ownerOf?.(real), allow: this.#options.cures?.link }),
      );
    } else if (!this.#seen.has(real)) {
      await this.#descend([{ ...link, real }]);
    }
  }

  /** null where `fileName` in that folder is not a file. */
  #placeIn({ path, real, plugin }: VisitedFolder, fileName: string): SkillPlace | null {
    const file = `${path}/${fileName}`;
    this.#spent += 1;
    const stats = statOf(file);
    return stats === undefined || stats.isDirectory() ? null : { path, real, file, stats, plugin };
  }

  /** False where the skill has to be read. */
  #keepKnown(place: SkillPlace): boolean {
    const before = this.#previous?.skills.get(place.path);
    if (!this.#reader.isKnown(place, before)) return false;
    this.#skills.set(place.path, before);
    return true;
  }

  async #readSkill(place: SkillPlace): Promise<void> {
    this.#spent += READ_COST;
    const before = this.#previous?.skills.get(place.path);
    const found = await this.#reader.read(place, before);
    this.#skills.set(place.path, found);
    if (found === before) return;
    this.#read.push(found);
    this.#changed = true;
  }

  #listing(path: string): FoundDirectory | null {
    const stats = statOf(path);
    this.#spent += 1;
    if (stats === undefined) return null; // gone since its parent was read
    const before = this.#previous?.directories.get(path);
    const same = before !== undefined && isSame(before.stamp, stats);
    if (same && before.settled) return before;
    this.#spent += READ_COST;
    try {
      const folder = readFolder(path);
      // plugin.json may change without the folder's own stamp.
      const settled = folder.plugin === null && isSettled(stampOf(stats), this.#options.now());
      if (same && JSON.stringify({ ...before, ...folder }) === JSON.stringify(before)) {
        before.settled = settled;
        return before;
      }
      this.#changed = true;
      return { stamp: stampOf(stats), settled, ...folder };
    } catch (error) {
      this.#diagnostics.push(folderUnreadable(path, this.#source, String(error)));
      if (before !== undefined && !isNothingThere(error)) {
        before.settled = false; // its skills do not count as gone
        return before;
      }
      this.#changed ||= !same;
      return { stamp: stampOf(stats), settled: false, children: [], links: [], oddFile: null, hasFiles: false, plugin: null };
    }
  }
}

function sameDiagnostics(a: readonly Diagnostic[], b: readonly Diagnostic[]): boolean {
  return a.length === b.length && a.every((one, index) => one.code === b[index]?.code && one.file === b[index]?.file);
}

/** The entries of a folder that matter to a scan. Throws the file system's error. */
function readFolder(path: string): Omit<FoundDirectory, 'stamp' | 'settled'> {
  const children: string[] = [];
  const links: string[] = [];
  const skillFiles: string[] = [];
  let hasFiles = false;
  let plugin: string | null = null;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const { name } = entry;
    if (marksPlugin(name)) plugin ??= pluginName(path, name);
    if (name.startsWith('.') || name === 'node_modules') continue;
    if (entry.isDirectory()) children.push(name);
    else {
      hasFiles = true;
      if (entry.isSymbolicLink()) links.push(name);
      if (name.toLowerCase() === 'skill.md') skillFiles.push(name);
    }
  }
  // The stack takes the last first; sorted, so that every machine finds the same order.
  children.sort((a, b) => (a < b ? 1 : -1));
  links.sort();
  skillFiles.sort();
  return { children, links: links.filter((name) => !skillFiles.includes(name)), oddFile: skillFiles[0] ?? null, hasFiles, plugin };
}

/** The plugin whose folder `skills` a source is; null: none. Throws where the system cannot read it just now. */
function pluginAbove(source: string): string | null {
  const folder = dirname(source);
  try {
    const mark = basename(source) === 'skills' ? readdirSync(folder).find(marksPlugin) : undefined;
    return mark === undefined ? null : pluginName(folder, mark);
  } catch (error) {
    if (isPassing(error)) throw error;
    return null; // the folder may not be read
  }
}

/** The folders that have files and no skill below them. */
function emptyFolders(skills: ReadonlyMap<string, FoundSkill>, directories: ReadonlyMap<string, FoundDirectory>): string[] {
  const occupied = new Set<string>();
  for (const directory of skills.keys()) {
    for (let up = directory.lastIndexOf('/'); up > 0; up = directory.lastIndexOf('/', up - 1)) {
      const parent = directory.slice(0, up);
      if (occupied.has(parent)) break;
      occupied.add(parent);
    }
  }
  return [...directories].filter(([path, folder]) => folder.hasFiles && !occupied.has(path)).map(([path]) => path);
}
