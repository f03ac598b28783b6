import { type Clock, z } from 'pith';
import { exclusively, type Exclusion } from '@pith/folder-changes';
import { once } from '@pith/promises';
import { fileBusy, stateFolder, type StateFolder } from '@pith/safe-files';
import type { DraftOrigin } from '../contract.ts';

/** Who wrote a draft, and which bytes. What is not among them somebody else wrote. */
export interface DraftRecord extends DraftOrigin {
  /** For whom; absent: older versions of Pith did not write it down. */
  readonly userId?: string | undefined;
  /** By path in the draft: the digests of what tools wrote there. */
  readonly files: Readonly<Record<string, readonly string[]>>;
}

const schema = once(() =>
  z.object({
    agent: z.string(),
    threadId: z.string(),
    userId: z.string().optional(),
    at: z.number(),
    sources: z.array(z.string()).nullable(),
    files: z.record(z.string(), z.array(z.string())),
  }),
);

/** What is recorded of drafts, for all processes. It is written before the files are: there is no byte of a tool without a record. */
export class DraftRecords {
  readonly #folder: StateFolder;
  readonly #lock: Exclusion;

  constructor(
    dataDirectory: string,
    private readonly clock: Clock,
  ) {
    this.#folder = stateFolder(dataDirectory, 'drafts');
    this.#lock = { folder: this.#folder, name: '.busy', busy: fileBusy };
  }

  /** null: there is none, or it is damaged. */
  of(id: string): DraftRecord | null {
    try {
      return schema().safeParse(JSON.parse(String(this.#folder.read(`${id}.json`)))).data ?? null;
    } catch {
      return null; // it is no JSON: then nobody is known
    }
  }

  /** Identifies what all of them say. */
  stamp(ids: Iterable<string>): string {
    return [...ids].map((id) => `${id} ${this.#folder.stamp(`${id}.json`)}`).join('\n');
  }

  change(id: string, make: (before: DraftRecord | null) => DraftRecord): Promise<void> {
    return exclusively(this.#lock, this.clock, () => this.#folder.write(`${id}.json`, JSON.stringify(make(this.of(id)))));
  }

  remove(id: string): void {
    this.#folder.remove(`${id}.json`);
  }
}
