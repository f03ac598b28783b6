import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { rm } from 'node:fs/promises';
import { PithError, z, type ExtensionContext } from 'pith';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import { readJson, writeJson } from './json-file.ts';
import { requireId, type Kind } from './places.ts';
import { digestOf, readSources, writeSources, type Source } from './sources.ts';

const recordSchema = z.object({ digest: z.string(), ok: z.boolean(), at: z.number() });

/** Where it lies, in the sandbox: free for agents to write, seen by people, loaded by nobody. */
const STAGING = '.staging';

/** What is being written, and which extensions have passed their checks. */
export class Staging {
  constructor(
    private readonly context: Pick<ExtensionContext, 'dataDirectory' | 'clock'>,
    private readonly sandbox: string,
  ) {}

  /** Relative to the sandbox, as the file tools take it. */
  path(kind: Kind, id: string): string {
    return `${STAGING}/${kind}/${requireId(kind, id)}`;
  }

  /** Throws when a folder on the way is a link: nothing outside is staged, checked or activated. */
  folder(kind: Kind, id: string): string {
    const folder = join(this.sandbox, this.path(kind, id));
    for (const each of [join(this.sandbox, STAGING), join(this.sandbox, STAGING, kind), folder]) {
      if (lstatSync(each, { throwIfNoEntry: false })?.isSymbolicLink())
        throw new PithError('not_allowed', `${each} is a link`, { cure: 'put a folder in its place' });
    }
    return folder;
  }

  exists(kind: Kind, id: string): boolean {
    return existsSync(this.folder(kind, id));
  }

  async begin(kind: Kind, id: string, sources: readonly Source[]): Promise<void> {
    await rm(this.folder(kind, id), { recursive: true, force: true });
    await writeSources(this.folder(kind, id), sources);
  }

  /** Rejects `not_found` where nothing is staged. */
  async sources(kind: Kind, id: string): Promise<readonly Source[]> {
    if (!this.exists(kind, id)) {
      const tool = kind === 'skills' ? 'stage_skill' : 'stage_extension';
      throw new PithError('not_found', `nothing is staged under '${id}'`, { cure: `call ${tool} first` });
    }
    return readSources(this.folder(kind, id));
  }

  async remember(id: string, digest: string, ok: boolean): Promise<void> {
    await writeJson(this.#checks(), recordOf(id), { digest, ok, at: this.context.clock.now() });
  }

  /** Reads the staged files of an extension once: they are these very bytes and passed their checks, or `why` says why they must not become active. */
  async passed(id: string, digest: string): Promise<{ readonly sources: readonly Source[]; readonly why: string | null }> {
    const sources = await this.sources('extensions', id);
    if (digestOf(sources) !== digest)
      return { sources, why: 'the staged files are not those with this digest; run check_extension and take its digest' };
    const record = readJson(this.#checks(), recordOf(id), recordSchema);
    if (record?.digest !== digest) return { sources, why: 'the staged files have not been checked; run check_extension' };
    return { sources, why: record.ok ? null : 'the staged files did not pass; fix what check_extension found' };
  }

  #checks(): StateFolder {
    return stateFolder(this.context.dataDirectory, 'checks');
  }
}

function recordOf(id: string): string {
  return `extensions-${id}.json`;
}
