import { existsSync, renameSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf } from 'pith';
import { syncFolder } from '@pith/safe-files';
import { digestOf, readSources, writeSources, type Source } from '../sources.ts';

/** The folder that an extension is loaded from, exchanged as a whole. Names with a point are loaded by nobody. */
export class Place {
  constructor(private readonly folder: string) {}

  /** null: there is none. */
  async sources(): Promise<readonly Source[] | null> {
    try {
      return await readSources(this.folder);
    } catch (error) {
      if (codeOf(error, '') === 'ENOENT') return null;
      throw error;
    }
  }

  async digest(): Promise<string | null> {
    const sources = await this.sources();
    return sources && digestOf(sources);
  }

  /** Everything is on disk before the two renames, which nothing of this process comes between. */
  async put(sources: readonly Source[]): Promise<void> {
    await this.tidy();
    await mkdir(dirname(this.folder), { recursive: true });
    await writeSources(this.#beside('next'), sources);
    if (existsSync(this.folder)) renameSync(this.folder, this.#beside('previous'));
    renameSync(this.#beside('next'), this.folder);
    syncFolder(dirname(this.folder));
    await this.tidy();
  }

  async remove(): Promise<void> {
    await this.tidy();
    if (existsSync(this.folder)) renameSync(this.folder, this.#beside('previous'));
    if (existsSync(dirname(this.folder))) syncFolder(dirname(this.folder));
    await this.tidy();
  }

  /** Removes what an exchange that was cut off left behind. */
  async tidy(): Promise<void> {
    for (const name of ['next', 'previous'] as const) await rm(this.#beside(name), { recursive: true, force: true });
  }

  #beside(name: 'next' | 'previous'): string {
    return join(dirname(this.folder), `.${basename(this.folder)}.${name}`);
  }
}
