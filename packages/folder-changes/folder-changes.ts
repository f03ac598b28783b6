import { randomUUID } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { mkdir, realpath, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import type { Timing } from '@pith/promises';
import { type StateFolder, stateFolder } from '@pith/safe-files';
import { readEntries } from './entries.ts';
import { exclusively, isStale, keepFresh } from './exclusive.ts';
import { ChangeRefused } from './refused.ts';
import { commit, type FolderChange, hasBegun, type Journaled, journalOf, KEPT, rollBack } from './journaled.ts';

export interface FolderChangesOptions<Entry> extends Journaled<Entry> {
  /** The folder that contains the changed folders, and hidden ones of this package. */
  readonly folder: string;
  readonly clock: Timing;
  /** After changes of these folders count, while no other process changes anything there; the next process does it where this one is killed. */
  counted?(folders: readonly string[]): Promise<void>;
}

/** A staging folder for changes. Release it with `remove`. */
export interface Staged<Entry> {
  /** Write here what is to be put in place. */
  readonly directory: string;
  /** Makes all changes or none. Rejects where the present content is not what a change expects. `before` anything is moved; where it rejects, nothing is changed. */
  change(changes: readonly FolderChange<Entry>[], before?: () => Promise<void>): Promise<void>;
  remove(): Promise<void>;
}

/** The folder for staged changes. It is hidden, so that nobody takes it for one of the folders. */
const STAGING = '.staging';

/**
 * Changes folders below one folder transactionally, together with a file that has an entry for each. The next process undoes what a killed
 * process began, and keeps what a person has written since.
 */
export class FolderChanges<Entry> {
  constructor(private readonly options: FolderChangesOptions<Entry>) {}

  /** The entries by id; empty where the file is absent. Rejects where it is damaged. */
  entries(): Promise<ReadonlyMap<string, Entry>> {
    return readEntries(this.options.entries, this.options.refusals);
  }

  /** Whether a process is changing something there, was killed, or left something for a person to look at. */
  isUnsettled(): boolean {
    return existsSync(path.join(this.options.folder, STAGING)) || this.kept() !== null;
  }

  /** The folder with content that could not be put back, because a person has written in its place since; null where there is none. */
  kept(): string | null {
    const kept = path.join(this.options.folder, KEPT);
    return existsSync(kept) ? kept : null;
  }

  /** Creates the folder where it is absent. Removes what killed processes left first. */
  async stage(signal?: AbortSignal): Promise<Staged<Entry>> {
    const { folder, clock, journals } = this.options;
    await mkdir(folder, { recursive: true });
    const root = await realpath(folder);
    await this.#recover(root, { sweeps: true, signal });
    const directory = stateFolder(root, STAGING, randomUUID()).make();
    const end = keepFresh(directory, clock);
    return {
      directory,
      change: (changes, before) =>
        this.#withLock(root, async () => {
          await this.#undoUnfinished(root, (name) => name !== path.basename(directory));
          await before?.();
          await commit({ ...this.options, root, directory }, changes);
        }),
      remove: async () => {
        end();
        // With a journal, the folder has content that could not be put back: the next start tries again. A folder that cannot be removed
        // now is left to the next sweep, since the change itself is done.
        if (!journals.has(journalOf(directory)))
          await rm(directory, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
        await rmdir(path.dirname(directory)).catch(() => undefined); // others are staging, or it is gone
      },
    };
  }

  /** Undoes what killed processes began. Rejects where a change is in the way. */
  async recover(): Promise<void> {
    await this.#recover(realpathSync(this.options.folder));
  }

  /** Does `work` while no other process changes anything there, after what killed processes began has been undone. */
  async settled<T>(work: () => Promise<T>): Promise<T> {
    if (!existsSync(this.options.folder)) return work();
    const root = await realpath(this.options.folder);
    return this.#withLock(root, async () => {
      await this.#undoUnfinished(root);
      return work();
    });
  }

  async #recover(
    root: string,
    { sweeps = false, signal }: { readonly sweeps?: boolean; readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    const { clock, journals } = this.options;
    const staging = stateFolder(root, STAGING);
    if (!staging.list().some((name) => sweeps || journals.has(journalOf(name)))) return;
    const isLeft = async (name: string) => {
      const directory = path.join(staging.path, name);
      return sweeps && isStale(directory, clock) && !(await hasBegun(directory));
    };
    const work = async () => {
      await this.#undoUnfinished(root);
      for (const name of staging.list()) if (await isLeft(name)) removeIfPossible(staging, name);
    };
    await this.#withLock(root, work, signal);
    await rmdir(staging.path).catch(() => undefined); // others are staging
  }

  /**
   * One process at a time writes and removes a journal, so a journal that this process sees under the lock belongs to nobody who is
   * working. A change that has begun and has no journal here is left alone: another folder of journals may have it, and a folder that
   * somebody planted has no effect.
   */
  async #undoUnfinished(root: string, isMeant: (name: string) => boolean = () => true): Promise<void> {
    const { clock, journals } = this.options;
    const staging = stateFolder(root, STAGING);
    for (const name of staging.list()) {
      if (!isMeant(name) || !journals.has(journalOf(name))) continue;
      if (await rollBack({ ...this.options, root, directory: path.join(staging.path, name) })) removeIfPossible(staging, name);
    }
    // A journal that was not written whole has another name.
    for (const name of journals.list()) if (name.startsWith('.') && isStale(path.join(journals.path, name), clock)) journals.remove(name);
  }

  #withLock<T>(root: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const { refusals, clock } = this.options;
    const busy = (where: string) => new ChangeRefused({ cure: 'try again when it has ended', ...refusals.busy }, { where });
    return exclusively({ folder: stateFolder(root), name: '.busy', busy }, clock, work, signal);
  }
}

function removeIfPossible(staging: StateFolder, name: string): void {
  try {
    staging.remove(name);
  } catch {
    // The folder was read-only before it was moved there. It does no harm, and the next process tries again.
  }
}
