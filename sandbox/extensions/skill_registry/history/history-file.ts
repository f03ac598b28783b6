import { type Clock, messageOf, PithError, z } from 'pith';
import { exclusively } from '@pith/folder-changes';
import { printableLine } from '@pith/plain-text';
import { sha256 } from '@pith/plain-data';
import { once } from '@pith/promises';
import { type StateFolder, stateFolder } from '@pith/safe-files';
import type { SkillVersion } from '../contract.ts';

/** A skill in a folder into which skills are written. */
export interface HistorySubject {
  readonly id: string;
  /** The label of its source. */
  readonly label: string;
  /** Relative to the skills of that source. */
  readonly folder: string;
}

/** A change that is to be recorded once the folder has it: the folder is relative to the skills of its source. */
export type PendingVersion = Omit<SkillVersion, 'number'> & { readonly folder?: string | undefined };

/** The history of one skill of one source. */
export interface RecordedHistory extends HistorySubject {
  /** Of the folder when it last was what the last version says; empty: to be compared by its content. */
  readonly stamp: string;
  /** The change that was about to be made; null: none, or it is settled. */
  readonly pending: PendingVersion | null;
  /** Oldest first, numbered from 1. */
  readonly versions: readonly SkillVersion[];
}

const FOLDER = 'history';
/** Raise it when an older Pith would misread a history: it refuses one of another format, and leaves it as it is. */
const FORMAT = 1;

const schema = once(() => {
  const text = z.string().nullable();
  const version = z.object({
    digest: z
      .string()
      .regex(/^sha256:[0-9a-f]{64}$/)
      .nullable(),
    version: text,
    at: z.number(),
    how: z.enum(['found', 'by_hand', 'new', 'install', 'update', 'remove', 'enrich', 'proposal', 'rollback', 'accepted']),
    by: z.string(),
    reason: text,
    proposal: text,
  });
  return z.object({
    format: z.literal(FORMAT).default(FORMAT),
    id: z.string(),
    label: z.string(),
    folder: z.string().min(1),
    stamp: z.string(),
    pending: version.extend({ folder: z.string().optional() }).nullable(),
    versions: z.array(version),
  });
});

/** The files that have the histories, one for each skill of each source. */
export class HistoryFiles {
  readonly #folder: StateFolder;

  constructor(dataDirectory: string) {
    this.#folder = stateFolder(dataDirectory, FOLDER);
  }

  has({ id, label }: Omit<HistorySubject, 'folder'>): boolean {
    return this.#folder.has(nameOf(id, label));
  }

  /** null: there is none. Throws `history_damaged`: what cannot be read is never written over. */
  read({ id, label }: Omit<HistorySubject, 'folder'>): RecordedHistory | null {
    const name = nameOf(id, label);
    const bytes = this.#folder.read(name);
    if (bytes === null) return null;
    try {
      const { data, error } = schema().safeParse(JSON.parse(String(bytes)));
      if (data === undefined) throw new Error(`${pathOf(error.issues[0]?.path)} is not valid`);
      const { versions, format: _, ...rest } = data;
      return { ...rest, versions: versions.map((version, at) => ({ number: at + 1, ...version })) };
    } catch (error) {
      throw new PithError('history_damaged', `the history of the skill '${id}' cannot be read: ${printableLine(messageOf(error), 200)}`, {
        cause: error,
        where: `${this.#folder.path}/${name}`,
        cure: 'restore the file from a backup, or move it away; a new history then begins',
      });
    }
  }

  /** Without those that are damaged. */
  subjects(): readonly HistorySubject[] {
    return this.#folder.list().flatMap((name) => {
      try {
        const { id, label, folder } = schema().parse(JSON.parse(String(this.#folder.read(name))));
        return [{ id, label, folder }];
      } catch {
        return []; // whoever asks for it is told
      }
    });
  }

  /** No two processes read and write at once. */
  exclusively<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
    const busy = (where: string) =>
      new PithError('history_busy', 'another process is writing the history of skills', { where, cure: 'try again when it has ended' });
    return exclusively({ folder: this.#folder, name: '.busy', busy }, clock, work);
  }

  async write(history: RecordedHistory): Promise<void> {
    await this.#folder.write(nameOf(history.id, history.label), JSON.stringify({ format: FORMAT, ...history }));
  }
}

function pathOf(path: readonly PropertyKey[] = []): string {
  return path.length === 0 ? 'the file' : `'${path.join('.')}'`;
}

function nameOf(id: string, label: string): string {
  return `${sha256(`${label}/${id}`)}.json`;
}
