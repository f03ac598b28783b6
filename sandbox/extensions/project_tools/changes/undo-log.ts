import { z, type ExtensionContext } from 'pith';
import { sha256 } from '@pith/plain-data';
import { oncePromised } from '@pith/promises';
import type { StateFolder } from '@pith/safe-files';

/** Where a change was made: its conversation and message. */
export interface ChangePlace {
  readonly thread: string;
  readonly message: string;
}

/** An undoable change of one file. */
export interface KeptChange {
  readonly path: string;
  /** Digest of the bytes; null: there was no file. */
  readonly before: string | null;
  readonly after: string;
}

/** All changes that one message caused. */
export interface ChangedTurn {
  readonly message: string;
  readonly at: number;
  /** In the order in which they were made. */
  readonly changes: readonly KeptChange[];
  /** Commands that ran, whose changes are unknown. */
  readonly commands: readonly string[];
}

const KEPT_MS = 30 * 24 * 60 * 60 * 1000;
const KEPT_BYTES = 500 * 1024 * 1024;
const PRUNE_MS = 60 * 60 * 1000;
const LONGEST_COMMAND = 200;

const row = z.object({
  message: z.string(),
  at: z.number(),
  kind: z.enum(['file', 'command']),
  path: z.string(),
  before: z.string().nullable(),
  after: z.string().nullable(),
});

type Ports = Pick<ExtensionContext, 'database' | 'clock'>;

/** The content of files before tools changed them, by digest, for 30 days and up to 500 MB. */
export class UndoLog {
  readonly #table = oncePromised(() => this.#makeTable());
  #prunedAt = 0;

  constructor(
    private readonly ports: Ports,
    private readonly blobs: StateFolder,
  ) {}

  async #makeTable(): Promise<void> {
    await this.ports.database.write([
      {
        sql: `CREATE TABLE IF NOT EXISTS project_tools__changes (
          id INTEGER PRIMARY KEY, thread TEXT NOT NULL, message TEXT NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL,
          path TEXT NOT NULL, before TEXT, after TEXT, bytes INTEGER NOT NULL, undone INTEGER) STRICT`,
      },
      { sql: 'CREATE INDEX IF NOT EXISTS project_tools__changes_thread ON project_tools__changes (thread, id)' },
    ]);
  }

  /** Stores the file's content before a change. Durable when this resolves. */
  async keep({ thread, message, path }: ChangePlace & { readonly path: string }, before: Buffer | null, after: Buffer): Promise<void> {
    await this.#table();
    await this.#prune();
    const name = before === null ? null : sha256(before);
    // The row first, so that its content is not pruned.
    await this.#insert({ thread, message, kind: 'file', path, before: name, after: sha256(after), bytes: before?.length ?? 0 });
    if (before !== null && name !== null && !this.blobs.has(name)) {
      this.blobs.make();
      await this.blobs.write(name, before);
    }
  }

  /** Records that a command ran, whose changes cannot be undone. */
  async noteCommand({ thread, message }: ChangePlace, command: string): Promise<void> {
    await this.#table();
    await this.#insert({ thread, message, kind: 'command', path: command.slice(0, LONGEST_COMMAND), before: null, after: null, bytes: 0 });
  }

  async #insert(
    change: ChangePlace & { kind: string; path: string; before: string | null; after: string | null; bytes: number },
  ): Promise<void> {
    const { thread, message, kind, path, before, after, bytes } = change;
    await this.ports.database.write([
      {
        sql: 'INSERT INTO project_tools__changes (thread, message, at, kind, path, before, after, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
        values: [thread, message, this.ports.clock.now(), kind, path, before, after, bytes],
      },
    ]);
  }

  /** A conversation's last messages that changed files or ran commands and were not undone, newest first. */
  async last(thread: string, count: number): Promise<readonly ChangedTurn[]> {
    await this.#table();
    const rows = await this.ports.database.all(
      `SELECT message, at, kind, path, before, after FROM project_tools__changes WHERE thread = ? AND undone IS NULL AND message IN (
         SELECT message FROM project_tools__changes WHERE thread = ? AND undone IS NULL GROUP BY message ORDER BY max(id) DESC LIMIT ?)
       ORDER BY id`,
      thread,
      thread,
      count,
    );
    const turns = new Map<string, { at: number; changes: KeptChange[]; commands: string[] }>();
    for (const { message, at, kind, path, before, after } of rows.map((each) => row.parse(each))) {
      const turn = turns.get(message) ?? { at, changes: [], commands: [] };
      turns.delete(message);
      turns.set(message, turn);
      if (kind === 'command') turn.commands.push(path);
      else turn.changes.push({ path, before, after: after ?? '' });
    }
    return [...turns].map(([message, turn]) => ({ message, ...turn })).reverse();
  }

  /** Whether a tool has changed something, even if that was undone. */
  async hasAny(thread: string): Promise<boolean> {
    await this.#table();
    return (await this.ports.database.all('SELECT id FROM project_tools__changes WHERE thread = ? LIMIT 1', thread)).length > 0;
  }

  /** null: it is no longer stored. */
  bytesOf(name: string): Buffer | null {
    return this.blobs.read(name);
  }

  async markUndone(thread: string, message: string): Promise<void> {
    await this.ports.database.write([
      {
        sql: 'UPDATE project_tools__changes SET undone = ? WHERE thread = ? AND message = ?',
        values: [this.ports.clock.now(), thread, message],
      },
    ]);
  }

  /** Removes entries older than 30 days, and the oldest beyond 500 MB. At most once an hour. */
  async #prune(): Promise<void> {
    const now = this.ports.clock.now();
    if (now - this.#prunedAt < PRUNE_MS) return;
    this.#prunedAt = now;
    await this.ports.database.write([
      { sql: 'DELETE FROM project_tools__changes WHERE at < ?', values: [now - KEPT_MS] },
      {
        sql: `DELETE FROM project_tools__changes WHERE id <= (SELECT id FROM (
          SELECT id, sum(bytes) OVER (ORDER BY id DESC) AS total FROM project_tools__changes) WHERE total > ? ORDER BY id DESC LIMIT 1)`,
        values: [KEPT_BYTES],
      },
    ]);
    const kept = this.blobs.list();
    const used = await this.ports.database.all('SELECT DISTINCT before FROM project_tools__changes WHERE before IS NOT NULL');
    const names = new Set(used.map(({ before }) => before));
    for (const name of kept) if (!names.has(name)) this.blobs.remove(name);
  }
}
