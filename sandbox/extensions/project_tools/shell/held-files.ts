import path from 'node:path';
import { lstatSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import type { CoveredPath } from '@pith/supervised-process';
import { isInside, isInstructions, realPathOf } from '@pith/safe-files';
import type { Project } from '../files/project.ts';
import { startsBy } from './autorun-digests.ts';
import { OF_OTHERS, walk, type FolderSearch, type Seen } from './project-walk.ts';

/**
 * Files that commands for others than administrators cannot change. The missing ones that count most are made while such commands run,
 * because a command could create them, and go with the last command.
 */
export class HeldFiles {
  #running = 0;
  readonly #made = new Map<string, string | null>();

  constructor(private readonly project: Pick<Project, 'jail' | 'root'>) {}

  /** Call before a command starts. Each needs its `end`, also one that rejects. */
  async begin(signal: AbortSignal): Promise<readonly CoveredPath[]> {
    const { root } = this.project;
    this.#running += 1;
    for (const [name, text] of MADE) this.#make(path.join(root, name), text);
    const search = new HeldSearch();
    await walk(this.project, [search], signal);
    const places = [...search.found, ...MADE.keys()].map((name) => realPathOf(path.join(root, name)));
    return [...new Set(places)].filter((at) => isThere(at) && isInside(at, root)).map((at) => ({ at, as: 'read_only' }));
  }

  /** Call when it has ended. */
  end(): void {
    this.#running -= 1;
    if (this.#running > 0) return;
    for (const [place, text] of this.#made) removeUnchanged(place, text);
    this.#made.clear();
  }

  #make(place: string, text: string | null): void {
    if (isThere(place)) return;
    if (text === null) mkdirSync(place);
    else writeFileSync(place, text, { flag: 'wx' });
    this.#made.set(place, text);
  }
}

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

/** With the content that acts like their absence; null: a folder. */
const MADE: ReadonlyMap<string, string | null> = new Map([
  ['AGENTS.md', ''],
  ['CLAUDE.md', ''],
  ['.env', ''],
  ['.envrc', ''],
  ['.mcp.json', '{}\n'],
  ['.vscode', null],
]);

function isThere(place: string): boolean {
  return lstatSync(place, { throwIfNoEntry: false }) !== undefined;
}

/** What a person has written meanwhile stays. */
function removeUnchanged(place: string, text: string | null): void {
  try {
    if (text === null) rmdirSync(place);
    else if (readFileSync(place, 'utf8') === text) rmSync(place);
  } catch {
    // it is gone, or holds something now
  }
}
