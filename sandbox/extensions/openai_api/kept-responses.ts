import type { ExtensionContext, JsonValue, TopicMap } from 'pith';
import { migrated, Queries, type Migration } from '@pith/database-queries';

interface Tables {
  /** Responses by their ids, as they were sent. */
  openai_api__responses: {
    readonly id: string;
    readonly user_id: string;
    readonly thread_id: string;
    readonly body: string;
    readonly at: number;
    /** Of the last message of its thread then; null: not known. */
    readonly seq: number | null;
  };
}

const MIGRATIONS: readonly Migration[] = [
  [
    'CREATE TABLE openai_api__responses (id text PRIMARY KEY, user_id text NOT NULL, thread_id text NOT NULL, body text NOT NULL, at bigint NOT NULL)',
    'CREATE INDEX openai_api__responses_thread ON openai_api__responses (thread_id, id)',
    'CREATE INDEX openai_api__responses_at ON openai_api__responses (at)',
  ],
  ['ALTER TABLE openai_api__responses ADD COLUMN seq bigint'],
];

const KEPT_MS = 30 * 24 * 3_600_000;

interface StoredResponse {
  readonly threadId: string;
  readonly body: JsonValue;
  /** Of the last message of its thread then; null: not known. */
  readonly seq: number | null;
}

/** A response that is kept. `isLast`: none of its thread came after it. */
export interface KeptResponse extends StoredResponse {
  readonly isLast: boolean;
}

/** Responses of the last 30 days, each for its user alone. Their ids ascend. */
export class KeptResponses {
  readonly #tables: Queries<Tables>;

  constructor(
    database: ExtensionContext['database'],
    private readonly clock: { now(): number },
  ) {
    this.#tables = new Queries(migrated(database, 'openai_api', MIGRATIONS));
  }

  async keep(id: string, { userId, threadId, body, seq }: StoredResponse & { readonly userId: string }): Promise<void> {
    const at = this.clock.now();
    const row = { id, user_id: userId, thread_id: threadId, body: JSON.stringify(body), at, seq };
    await this.#tables.write((db) => [
      db.deleteFrom('openai_api__responses').where('at', '<', at - KEPT_MS),
      db.insertInto('openai_api__responses').values(row),
    ]);
  }

  /** null: there is none of this user. */
  async find(id: string, userId: string): Promise<KeptResponse | null> {
    const since = this.clock.now() - KEPT_MS;
    const row = await this.#tables.first((db) =>
      db.selectFrom('openai_api__responses').selectAll().where('id', '=', id).where('user_id', '=', userId).where('at', '>=', since),
    );
    if (row === null) return null;
    const later = await this.#tables.first((db) =>
      db.selectFrom('openai_api__responses').select('id').where('thread_id', '=', row.thread_id).where('id', '>', id),
    );
    const { thread_id: threadId, body, seq } = row;
    return { threadId, body: JSON.parse(body) as JsonValue, seq: seq === null ? null : Number(seq), isLast: later === null };
  }

  /** Of a thread that was removed. */
  async forget({ threadId, at }: Pick<TopicMap['thread.removed'], 'threadId' | 'at'>): Promise<void> {
    await this.#tables.write((db) => [db.deleteFrom('openai_api__responses').where('thread_id', '=', threadId).where('at', '<=', at)]);
  }

  /** False: there is none of this user. */
  async remove(id: string, userId: string): Promise<boolean> {
    const [removed] = await this.#tables.write((db) => [
      db.deleteFrom('openai_api__responses').where('id', '=', id).where('user_id', '=', userId),
    ]);
    return removed === 1;
  }
}
