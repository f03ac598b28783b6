import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PithError, z, type Clock } from 'pith';
import { readJson, writeJson } from '../json-file.ts';
import { digestOf, readSources, syncFolder, writeSources, type Source } from '../sources.ts';

const versionSchema = z.object({
  number: z.int().min(1),
  digest: z.string(),
  at: z.number(),
  /** The agent or person that it came from. */
  by: z.string(),
});

export type Version = z.infer<typeof versionSchema>;

const KEPT = 5;

/** What was active of each extension: the last five versions, as whole folders. */
export class VersionStore {
  constructor(
    private readonly folder: () => string,
    private readonly clock: Clock,
  ) {}

  /** Oldest first. */
  async list(id: string): Promise<readonly Version[]> {
    return (await readJson(this.#index(id), z.array(versionSchema))) ?? [];
  }

  /** Keeps these files as the newest version; the newest one itself when it has the same files. `keep`: numbers that must stay. */
  async add(id: string, sources: readonly Source[], by: string, keep: readonly number[] = []): Promise<Version> {
    const known = await this.list(id);
    const newest = known.at(-1);
    const digest = digestOf(sources);
    if (newest?.digest === digest) return newest;
    const version: Version = { number: (newest?.number ?? 0) + 1, digest, at: this.clock.now(), by };
    const draft = join(this.#of(id), `.${version.number}.draft`);
    await rm(draft, { recursive: true, force: true });
    await writeSources(draft, sources);
    await rm(this.#place(id, version.number), { recursive: true, force: true }); // of an attempt that was cut off before it was listed
    await rename(draft, this.#place(id, version.number));
    await syncFolder(this.#of(id));
    const all = [...known, version];
    const kept = all.filter(({ number }, index) => index >= all.length - KEPT || keep.includes(number));
    await writeJson(this.#index(id), kept);
    for (const { number } of all)
      if (!kept.some((each) => each.number === number)) await rm(this.#place(id, number), { recursive: true, force: true });
    return version;
  }

  /** The files of a version. Rejects `not_found`, and `internal` when they are not what they were. */
  async read(id: string, number: number): Promise<readonly Source[]> {
    const versions = await this.list(id);
    const version = versions.find((each) => each.number === number);
    if (version === undefined) {
      const known = versions.map((each) => each.number).join(', ');
      throw new PithError('not_found', `there is no version ${number} of '${id}'`, {
        cure: known === '' ? 'activate it first' : `choose one of ${known}`,
      });
    }
    const sources = await readSources(this.#place(id, number));
    if (digestOf(sources) === version.digest) return sources;
    throw new PithError('internal', `version ${number} of '${id}' was changed in ${this.#place(id, number)}`, {
      cure: 'choose another version',
    });
  }

  #of(id: string): string {
    return join(this.folder(), id);
  }

  #place(id: string, number: number): string {
    return join(this.#of(id), String(number));
  }

  #index(id: string): string {
    return join(this.#of(id), 'versions.json');
  }
}
