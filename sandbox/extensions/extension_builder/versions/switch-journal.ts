import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, z } from 'pith';
import { readJson, removeFile, writeJson } from '../json-file.ts';

const recordSchema = z.object({
  id: z.string(),
  /** `switching` until the new files stand in their place, then `watching`. */
  phase: z.enum(['switching', 'watching']),
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
  constructor(private readonly folder: () => string) {}

  write(record: Switch): Promise<void> {
    return writeJson(this.#file(record.id), record);
  }

  close(id: string): Promise<void> {
    return removeFile(this.#file(id));
  }

  async open(): Promise<readonly Switch[]> {
    const found: Switch[] = [];
    for (const name of await namesIn(this.folder())) {
      if (!name.endsWith('.json')) continue;
      const record = await readJson(join(this.folder(), name), recordSchema);
      if (record !== null) found.push(record);
    }
    return found;
  }

  #file(id: string): string {
    return join(this.folder(), `${id}.json`);
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error, '') === 'ENOENT') return [];
    throw error;
  }
}
