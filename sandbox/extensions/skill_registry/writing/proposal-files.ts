import { randomUUID } from 'node:crypto';
import { renameSync } from 'node:fs';
import path from 'node:path';
import type { SkillProposalFile } from '../contract.ts';
import { type Clock, codeOf, PithError } from 'pith';
import { exclusively } from '@pith/folder-changes';
import { stateFolder, type StateFolder, syncFolder } from '@pith/safe-files';

const FOLDER = 'proposals';
/** Removed files are moved here, so that nothing is lost. */
const REMOVED = 'removed';
/** In bytes; a longer file is listed without its text. */
const LARGEST = 4 * 1024 * 1024;
const NAME = /^[^.][^/\\\0]{0,240}\.md$/u;

/** The files of proposals: replaced whole, and only by who knows what they hold. */
export class ProposalFiles {
  readonly #folder: StateFolder;

  constructor(
    dataDirectory: string,
    private readonly clock: Clock,
  ) {
    this.#folder = stateFolder(dataDirectory, FOLDER);
  }

  list(): readonly SkillProposalFile[] {
    const names = this.#folder.list().filter((name) => NAME.test(name));
    return names.sort().flatMap((name) => {
      const text = this.#read(name);
      return text === null ? [] : [{ name, path: `${this.#folder.path}/${name}`, text }];
    });
  }

  /** `text` null: it is removed. `expects`: what it holds; null: there is none yet. */
  async write(name: string, text: string | null, expects: string | null): Promise<void> {
    if (!NAME.test(name)) throw new PithError('usage', `${JSON.stringify(name)} cannot name the file of a proposal`);
    if (text !== null && Buffer.byteLength(text) > LARGEST)
      throw new PithError('proposal_too_large', `a proposal may have at most ${LARGEST} bytes`, { cure: 'propose less at once' });
    const busy = (where: string) =>
      new PithError('proposals_busy', 'another process is changing the proposals', { where, cure: 'try again when it has ended' });
    await exclusively({ folder: this.#folder, name: '.busy', busy }, this.clock, async () => {
      if (this.#read(name) !== expects)
        throw new PithError('proposal_changed', `the proposal '${name}' was changed meanwhile`, {
          where: `${this.#folder.path}/${name}`,
          cure: 'look at it again with: pith skills proposals list',
        });
      if (text !== null) return this.#folder.write(name, text);
      if (expects === null) return;
      const removed = this.#folder.folder(REMOVED).make();
      renameSync(path.join(this.#folder.path, name), path.join(removed, `${randomUUID().slice(0, 8)}-${name}`)); // as it is: it may be no text
      for (const folder of [removed, this.#folder.path]) syncFolder(folder);
    });
  }

  /** Empty where it is too large, or is no file of ours; null where it is absent. */
  #read(name: string): string | null {
    try {
      return this.#folder.read(name, LARGEST)?.toString('utf8') ?? null;
    } catch (error) {
      if (error instanceof RangeError || codeOf(error, '') === 'state_refused') return '';
      throw error;
    }
  }
}
