import { z } from 'pith';
import type { StateFolder } from '@pith/safe-files';
import { readJson, writeJson } from '../json-file.ts';

const recordSchema = z.object({
  id: z.string(),
  /** `switching` until the new files are in their place, then `watching`. */
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
