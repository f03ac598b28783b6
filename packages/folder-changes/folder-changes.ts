import { randomUUID } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { mkdir, realpath, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import type { Timing } from '@pith/promises';
import { stateFolder } from '@pith/safe-files';
import { readEntries } from './entries.ts';
import { exclusively, isStale, keepFresh } from './exclusive.ts';
import { ChangeRefused } from './refused.ts';
import { commit, type FolderChange, hasBegun, type Journaled, journalOf, KEPT, rollBack } from './journaled.ts';

export interface FolderChangesOptions<Entry> extends Journaled<Entry> {
  /** It holds the folders that are changed, and hidden ones of this package. */
  readonly folder: string;
  readonly clock: Timing;
}

/** Changes that are being prepared. Give it back with `remove`. */
export interface Staged<Entry> {
  /** What is to be put in place is written here. */
  readonly directory: string;
  /** Makes all of them or none. Rejects where something else is in a place than a change says. */
  change(changes: readonly FolderChange<Entry>[]): Promise<void>;
  remove(): Promise<void>;
}

/** Holds what is being prepared. Hidden, so that nobody takes it for one of the folders. */
const STAGING = '.staging';

/**
 * Changes folders below one folder, with an entry for each in a file beside them. What a killed process had begun is undone by the next
 * one, and what a person wrote since stays.
 */
export class FolderChanges<Entry> {
  constructor(private readonly options: FolderChangesOptions<Entry>) {}

  /** The entries by id; none where there is no file. Rejects where it is damaged. */
  entries(): Promise<ReadonlyMap<string, Entry>> {
    return readEntries(this.options.entries, this.options.refusals);
  }

  /** Whether a process is at work there, was killed, or left something to look at. */
  isUnsettled(): boolean {
    return existsSync(path.join(this.options.folder, STAGING)) || this.kept() !== null;
  }

  /** The folder with what could not be put back, because a person has written in its place since; null where there is none. */
  kept(): string | null {
    const kept = path.join(this.options.folder, KEPT);
    return existsSync(kept) ? kept : null;
  }

  /** Makes the folder where it is absent. What killed processes left is swept first. */
  async stage(signal?: AbortSignal): Promise<Staged<Entry>> {
    const { folder, clock, journals } = this.options;
    await mkdir(folder, { recursive: true });
    const root = await realpath(folder);
    await this.#recover(root, { sweeps: true, signal });
    const directory = stateFolder(root, STAGING, randomUUID()).make();
    const end = keepFresh(directory, clock);
    return {
      directory,
      change: (changes) => this.#withLock(root, () => commit({ ...this.options, root, directory }, changes)),
      remove: async () => {
        end();
        // With a journal it holds what could not be put back: the next start tries again.
        // What cannot be removed now is swept by the next one: the change itself is made.
        if (!journals.has(journalOf(directory)))
          await rm(directory, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
        await rmdir(path.dirname(directory)).catch(() => undefined); // others are at work, or it is gone
      },
    };
  }

  /** Undoes what killed processes had begun. Rejects where something is in the way. */
  async recover(): Promise<void> {
    await this.#recover(realpathSync(this.options.folder));
  }

  /**
   * A journal is written and removed by one process at a time, so one that is seen by that belongs to nobody who is at work. With `sweeps`,
   * what was only staged is removed. What has begun and is written down nowhere we know stays as it is: another folder of journals may
   * know of it, and a folder that somebody planted leads to nothing.
   */
  async #recover(
    root: string,
    { sweeps = false, signal }: { readonly sweeps?: boolean; readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    const { clock, journals } = this.options;
    const staging = stateFolder(root, STAGING);
    const names = staging.list();
    const isJournaled = (name: string) => journals.has(journalOf(name));
    const isDone = async (name: string) => {
      const directory = path.join(staging.path, name);
      if (isJournaled(name)) return rollBack({ ...this.options, root, directory });
      return sweeps && isStale(directory, clock) && !(await hasBegun(directory));
    };
    if (!names.some((name) => sweeps || isJournaled(name))) return;
    const work = async () => {
      for (const name of names) {
        if (!(await isDone(name))) continue;
        try {
          staging.remove(name);
        } catch {
          // It was read-only before it was moved there: it harms nobody, and the next one tries again.
        }
      }
    };
    await this.#withLock(root, work, signal);
    await rmdir(staging.path).catch(() => undefined); // others are at work
  }

  #withLock<T>(root: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const { refusals, clock } = this.options;
    const busy = (where: string) => new ChangeRefused({ cure: 'try again when it has ended', ...refusals.busy }, { where });
    return exclusively({ folder: stateFolder(root), name: '.busy', busy }, clock, work, signal);
  }
}
