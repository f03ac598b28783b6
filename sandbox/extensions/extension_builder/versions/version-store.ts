import { PithError, z, type Clock } from 'pith';
import { type Kept, KeptFolders } from '@pith/kept-folders';
import type { StateFolder } from '@pith/safe-files';
import { readJson, writeJson } from '../json-file.ts';
import { digestOf, readSources, writeSources, type Source } from '../sources.ts';

const versionSchema = z.object({
  number: z.int().min(1),
  digest: z.string(),
  at: z.number(),
  /** The agent or person that it came from. */
  by: z.string(),
});

export type Version = z.infer<typeof versionSchema>;

const KEPT = 5;

/** As kept folders are named. */
function nameOf({ digest }: Pick<Version, 'digest'>): string {
  return `sha256:${digest}`;
}

const INDEX = 'versions.json';

/** What was active of each extension: the last five versions, as whole folders. */
export class VersionStore {
  constructor(
    private readonly folder: () => StateFolder,
    private readonly clock: Clock,
  ) {}

  /** Oldest first. */
  async list(id: string): Promise<readonly Version[]> {
    return readJson(this.#of(id), INDEX, z.array(versionSchema)) ?? [];
  }

  /** Keeps these files as the newest version; the newest one itself when it has the same files. `keep`: numbers that must stay. */
  async add(id: string, sources: readonly Source[], by: string, keep: readonly number[] = []): Promise<Version> {
    const known = await this.list(id);
    const newest = known.at(-1);
    const digest = digestOf(sources);
    if (newest?.digest === digest) return newest;
    const version: Version = { number: (newest?.number ?? 0) + 1, digest, at: this.clock.now(), by };
    const describe = (named: string): Kept => ({ digest: named });
    await this.#kept(id).keep(id, (folder) => writeSources(folder, sources), describe);
    const all = [...known, version];
    const kept = all.filter(({ number }, index) => index >= all.length - KEPT || keep.includes(number));
    await writeJson(this.#of(id), INDEX, kept);
    for (const one of all) if (!kept.includes(one)) this.#remove(id, one, kept);
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
    const former = this.#of(id).folder(String(number)).path;
    const sources = await readSources((await this.#kept(id).at(nameOf(version))) ?? former).catch(() => null); // it is gone, or no folder of sources
    if (sources !== null && digestOf(sources) === version.digest) return sources;
    throw new PithError('internal', `version ${number} of '${id}' was changed in ${this.#of(id).path}`, { cure: 'choose another version' });
  }

  #of(id: string): StateFolder {
    return this.folder().folder(id);
  }

  #kept(id: string): KeptFolders<Kept> {
    const digestIn = async (folder: string) => nameOf({ digest: digestOf(await readSources(folder)) });
    return new KeptFolders({ folder: this.#of(id), now: () => this.clock.now(), digestOf: digestIn, factsOf: (value) => value as Kept });
  }

  /** Another version that stays may have the same files. */
  #remove(id: string, { number, digest }: Version, staying: readonly Version[]): void {
    this.#of(id).remove(String(number)); // where earlier versions of Pith kept it
    if (!staying.some((each) => each.digest === digest)) this.#kept(id).remove(nameOf({ digest }));
  }
}

const recordSchema = z.object({
  id: z.string(),
  /** The version before; null: there was none. */
  from: z.int().nullable(),
  to: z.int(),
  /** Of the files of `to`. */
  digest: z.string(),
  /** Agents whose `uses_tools` the same approval changed. */
  agents: z.array(z.string()),
  /** Where it was asked for. */
  threadId: z.string().nullable(),
  userId: z.string().nullable(),
  correlationId: z.string().optional(),
});

/** An exchange of versions that is under way or still watched. */
export type Switch = z.infer<typeof recordSchema>;

/** Exchanges that have begun and are not over, on disk: a start finds them. */
export class SwitchJournal {
  constructor(private readonly folder: () => StateFolder) {}

  write(record: Switch): Promise<void> {
    return writeJson(this.folder(), fileOf(record.id), record);
  }

  close(id: string): void {
    this.folder().remove(fileOf(id));
  }

  open(): readonly Switch[] {
    const folder = this.folder();
    const names = folder.list().filter((name) => name.endsWith('.json') && !name.startsWith('.'));
    return names.flatMap((name) => readJson(folder, name, recordSchema) ?? []);
  }
}

function fileOf(id: string): string {
  return `${id}.json`;
}
