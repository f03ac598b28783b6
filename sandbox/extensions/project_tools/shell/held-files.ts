import path from 'node:path';
import { z } from 'pith';
import { jsonOf } from '@pith/plain-data';
import { isInside, isInstructions, realPathOf, type StateFolder } from '@pith/safe-files';
import type { CoveredPath } from '@pith/supervised-process';
import type { Project } from '../files/project.ts';
import { startsBy } from './autorun-digests.ts';
import { isThere, makePlaceholder, PLACEHOLDERS, removePlaceholder } from './placeholders.ts';
import { ProcessRecords } from './process-records.ts';
import { OF_OTHERS, walk, type FolderSearch, type Seen } from './project-walk.ts';

/** What a command for somebody who is no administrator cannot change. */
interface Held {
  readonly covered: readonly CoveredPath[];
  /** The placeholders, as git is to ignore them: a file. */
  readonly ignored: string;
}

const record = z.object({ root: z.string(), placeholders: z.array(z.string()) });

/**
 * Files that commands for others than administrators cannot change. Of the missing ones, a command could create those that count most: they
 * are placeholders while such commands run, as a sandbox covers only what is there. A record on disk says which: the last process that
 * needs them removes them, or the next one, where that was killed.
 */
export class HeldFiles {
  #running = 0;
  /** Names of the placeholders that commands of this process need. */
  #placeholders: readonly string[] = [];
  readonly #records: ProcessRecords;

  constructor(
    private readonly project: Pick<Project, 'jail' | 'root'>,
    private readonly folder: StateFolder,
  ) {
    this.#records = new ProcessRecords(folder);
    this.#removeOfKilled();
  }

  /** Call before a command starts. Each needs its `end`, also one that rejects. */
  async begin(signal: AbortSignal): Promise<Held> {
    const { root } = this.project;
    this.#running += 1;
    this.#removeOfKilled();
    this.#makePlaceholders();
    const search = new HeldSearch();
    await walk(this.project, [search], signal);
    const places = [...search.found, ...PLACEHOLDERS].map((name) => realPathOf(path.join(root, name)));
    const covered = [...new Set(places)].filter((at) => isThere(at) && isInside(at, root)).map((at) => ({ at, as: 'read_only' as const }));
    return { covered, ignored: path.join(this.folder.path, IGNORED) };
  }

  /** Call when it has ended. */
  end(): void {
    this.#running -= 1;
    if (this.#running > 0) return;
    this.#records.keep(null);
    this.#remove(this.#placeholders);
    this.#placeholders = [];
  }

  #makePlaceholders(): void {
    const { root } = this.project;
    const ofOthers = this.#ofOthers();
    const needed = [...PLACEHOLDERS].filter(
      (name) => this.#placeholders.includes(name) || ofOthers.has(name) || !isThere(path.join(root, name)),
    );
    this.#placeholders = needed;
    this.#records.keep({ root, placeholders: needed }); // before they are there: a kill in between leaves none that nobody knows
    this.folder.make();
    this.folder.writeNow(IGNORED, needed.map((name) => `/${name}\n`).join(''));
    for (const name of needed) makePlaceholder(root, name);
  }

  #removeOfKilled(): void {
    for (const name of this.#records.ofKilled()) {
      this.#remove(this.#placeholdersOf(name));
      this.#records.remove(name);
    }
  }

  #remove(placeholders: readonly string[]): void {
    const needed = new Set([...this.#ofOthers(), ...(this.#running > 0 ? this.#placeholders : [])]);
    for (const name of placeholders) if (!needed.has(name)) removePlaceholder(this.project.root, name);
  }

  #ofOthers(): ReadonlySet<string> {
    return new Set(this.#records.ofOthers().flatMap((name) => this.#placeholdersOf(name)));
  }

  #placeholdersOf(name: string): readonly string[] {
    const read = record.safeParse(jsonOf(this.#records.read(name))); // a truncated record: none had been made
    return read.success && read.data.root === this.project.root ? read.data.placeholders.filter((each) => PLACEHOLDERS.includes(each)) : [];
  }
}

const IGNORED = 'ignored';

class HeldSearch implements FolderSearch {
  readonly isStrict = false;
  readonly found: string[] = [];

  enters(names: readonly string[]): boolean {
    const name = names.at(-1) ?? '';
    return name !== '.git' && !OF_OTHERS.has(name);
  }

  see(names: readonly string[], entries: readonly Seen[]): void {
    for (const { name, type } of entries) {
      const place = [...names, name].join('/');
      if (type !== 'directory' && (startsBy(place) !== null || isInstructions(name))) this.found.push(place);
    }
  }
}
