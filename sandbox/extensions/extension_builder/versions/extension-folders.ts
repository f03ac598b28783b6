import { join } from 'node:path';
import { codeOf } from 'pith';
import { FolderChanges, type Refusals } from '@pith/folder-changes';
import { systemClock } from '@pith/promises';
import type { StateFolder } from '@pith/safe-files';
import { requireId } from '../places.ts';
import { digestOf, readSources, writeSources, type Source } from '../sources.ts';

/** The folders that extensions are loaded from: each is exchanged as a whole, and never over files that nobody has looked at. */
export class ExtensionFolders {
  readonly #base: string;
  readonly #changes: FolderChanges<never>;

  /** `journals`: what is to be undone when a process is killed. */
  constructor(sandbox: string, journals: StateFolder) {
    this.#base = join(sandbox, 'extensions');
    const digest = async (folder: string) => digestOf(await readSources(folder));
    this.#changes = new FolderChanges({
      folder: this.#base,
      journals,
      entries: null,
      digestOf: digest,
      refusals: REFUSALS,
      clock: systemClock,
    });
  }

  /** null: there is none. */
  async sources(id: string): Promise<readonly Source[] | null> {
    try {
      return await readSources(join(this.#base, requireId('extensions', id)));
    } catch (error) {
      if (codeOf(error, '') === 'ENOENT') return null;
      throw error;
    }
  }

  async digest(id: string): Promise<string | null> {
    const sources = await this.sources(id);
    return sources && digestOf(sources);
  }

  /** Puts these files in the place of what has the digest `expects`, null for nothing; null takes the folder away. Rejects `not_allowed` where something else is there. */
  async exchange(id: string, sources: readonly Source[] | null, expects: string | null): Promise<void> {
    const staged = await this.#changes.stage();
    try {
      if (sources !== null) await writeSources(join(staged.directory, requireId('extensions', id)), sources);
      await staged.change([{ folder: id, id: '', from: sources && id, entry: null, expects }]);
    } finally {
      await staged.remove();
    }
  }

  /** Undoes what killed processes had begun. */
  async recover(): Promise<void> {
    if (this.#changes.isUnsettled()) await this.#changes.recover();
  }
}

const edited = (id: string) => ({
  code: 'not_allowed',
  message: `the files of '${id}' were changed meanwhile`,
  cure: 'look at them, then activate it again',
});
const failed = (message: string) => ({ code: 'internal', message, cure: 'try again' });

const REFUSALS: Refusals = {
  exists: edited,
  gone: edited,
  edited,
  editedMeanwhile: edited,
  damaged: failed,
  journal: {
    code: 'internal',
    message: 'an exchange of an extension was interrupted, and its journal cannot be read',
    cure: 'move the file away; what it had moved is in .staging of the extensions folder',
  },
  takenOver: failed('this process was delayed, and another undid the exchange of an extension'),
  busy: failed('another process is exchanging an extension'),
  failed: 'internal',
};
