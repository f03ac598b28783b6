import path from 'node:path';
import { z } from 'pith';
import { printableLine } from '@pith/plain-text';
import { runGit } from '@pith/project-files';
import { jsonOf } from '@pith/plain-data';
import {
  changesBetween,
  nestedRepositories,
  NO_AUTORUN_FILES,
  autorunFilesOf,
  AutorunSearch,
  linesOf,
  type LookedThrough,
  type AutorunFiles,
} from './autorun-files.ts';
import type { ProcessRecords } from './process-records.ts';
import { walk } from './project-walk.ts';
import { SecretSearch, type ProjectSecrets } from './secret-files.ts';

/** Autorun files that commands left. */
export interface Leftovers {
  readonly commands: readonly string[];
  /** Each a line for people. */
  readonly lines: readonly string[];
  /** The record of what was there before. */
  readonly record: string;
}

/** What is known when a command begins. */
export interface Begun {
  /** null: not requested. */
  readonly secrets: ProjectSecrets | null;
  /** Leftovers, not yet reported, of commands whose Pith was killed. */
  readonly unreported: readonly Leftovers[];
}

const kept = z.object({
  root: z.string(),
  commands: z.array(z.string()),
  digests: z.array(z.tuple([z.string(), z.string()])),
  gitlinks: z.array(z.string()),
});

type Kept = z.infer<typeof kept> & { readonly name: string };

/**
 * Finds autorun files that commands create in a project. While commands run, a record on disk says what was there before: if this process
 * is killed, the next one still finds what they left.
 */
export class CommandWatch {
  readonly #running: string[] = [];
  /** Repositories that appeared while commands ran. */
  readonly #came = new Set<string>();
  /** Records of killed processes that were reported here. */
  readonly #acknowledged = new Set<string>();
  #known: AutorunFiles = NO_AUTORUN_FILES;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly place: LookedThrough,
    private readonly records: ProcessRecords,
  ) {}

  /** Call before a command starts. Throws as `SecretSearch.found`. */
  begin(command: string, mostChecked: number | null, signal: AbortSignal): Promise<Begun> {
    return this.#inTurn(async () => {
      const secrets = mostChecked === null ? null : new SecretSearch(this.place.root, mostChecked);
      const autorun = this.#running.length > 0 ? null : new AutorunSearch(this.place);
      await walk(
        this.place,
        [secrets, autorun].filter((search) => search !== null),
        signal,
      );
      const found = secrets?.found() ?? null;
      const unreported: Leftovers[] = [];
      if (autorun !== null) {
        this.#known = await autorun.found(signal);
        for (const record of this.#recordsOfKilled())
          if (!this.#acknowledged.has(record.name)) unreported.push(...(await this.#leftSince(record, this.#known, signal)));
        for (const name of this.records.ofKilled()) this.records.remove(name);
      }
      this.#running.push(command);
      this.#keep();
      return { secrets: found, unreported };
    });
  }

  /** Call when it has ended. */
  end(command: string): Promise<readonly string[]> {
    return this.#inTurn(async () => {
      const lines = [...(await this.#look(new AbortController().signal))];
      if (!this.#known.isWhole) lines.push('the project has too many folders to look through: look for new repositories yourself');
      this.#running.splice(this.#running.indexOf(command), 1);
      this.#keep();
      return lines;
    });
  }

  /** What has appeared since the last look, while commands run. */
  look(signal: AbortSignal): Promise<readonly string[]> {
    return this.#inTurn(() => this.#look(signal));
  }

  /** Commands that ran when their Pith was killed. */
  commandsOfKilled(): readonly string[] {
    return this.#recordsOfKilled().flatMap(({ commands }) => commands);
  }

  /** What appeared while they ran, as it is now. */
  async ofKilled(signal: AbortSignal): Promise<readonly Leftovers[]> {
    const records = this.#recordsOfKilled();
    if (records.length === 0) return [];
    const now = await autorunFilesOf(this.place, signal);
    return (await Promise.all(records.map((record) => this.#leftSince(record, now, signal)))).flat();
  }

  /** A person has read it here: the next command does not repeat it. */
  acknowledge(all: readonly Leftovers[]): void {
    for (const { record } of all) this.#acknowledged.add(record);
  }

  async #leftSince({ name, commands, digests, gitlinks }: Kept, now: AutorunFiles, signal: AbortSignal): Promise<readonly Leftovers[]> {
    const before = { digests: new Map(digests), gitlinks: new Set(gitlinks), isWhole: true };
    const links = [...now.gitlinks].filter((link) => !before.gitlinks.has(link));
    const lines = [
      ...linesOf(await changesBetween(this.place.root, before, now, signal)),
      ...links.map(
        (link) => `${printableLine(link, 200)} ${IN_INDEX}; take it out: git rm --cached ${printableLine(JSON.stringify(link), 300)}`,
      ),
    ];
    return lines.length === 0 ? [] : [{ commands, lines, record: name }];
  }

  #recordsOfKilled(): readonly Kept[] {
    return this.records.ofKilled().flatMap((name) => {
      const read = kept.safeParse(jsonOf(this.records.read(name))); // a truncated record: its command did not begin
      return read.success && read.data.root === this.place.root ? [{ ...read.data, name }] : [];
    });
  }

  async #look(signal: AbortSignal): Promise<readonly string[]> {
    const before = this.#known;
    const now = await autorunFilesOf(this.place, signal);
    const changes = await changesBetween(this.place.root, before, now, signal);
    for (const { isNew, repository } of changes) if (isNew && repository !== null) this.#came.add(repository);
    const lines = [...linesOf(changes)];
    const taken = new Set<string>();
    for (const link of [...now.gitlinks].filter((each) => !before.gitlinks.has(each))) {
      const isTaken = this.#came.has(link) && (await this.#takeOut(link, now, signal));
      if (isTaken) taken.add(link);
      lines.push(`${printableLine(link, 200)} ${IN_INDEX}${isTaken ? '; Pith took it out of the index again' : ''}`);
    }
    this.#known = { ...now, gitlinks: new Set([...now.gitlinks].filter((link) => !taken.has(link))) };
    if (lines.length > 0) this.#keep();
    return lines;
  }

  async #takeOut(link: string, { digests }: AutorunFiles, signal: AbortSignal): Promise<boolean> {
    const places = nestedRepositories([...digests.keys()]).filter(({ outer, inner }) => path.posix.join(outer, inner) === link);
    let isOut = false;
    for (const { outer, inner } of places)
      isOut = (await runGit(path.join(this.place.root, outer), ['update-index', '--force-remove', '--', inner], signal)) === '' || isOut;
    return isOut;
  }

  #keep(): void {
    const [commands, { digests, gitlinks }] = [this.#running, this.#known];
    this.records.keep(commands.length === 0 ? null : { root: this.place.root, commands, digests: [...digests], gitlinks: [...gitlinks] });
  }

  /** One after the other: each look begins where the one before it ended. */
  #inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    const done = this.#turn.then(run);
    this.#turn = done.catch(() => undefined); // the caller gets the rejection
    return done;
  }
}

const IN_INDEX = 'is a repository in the index: git in the folder around it starts its programs, too';
