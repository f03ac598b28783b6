import type { ExtensionContext, JsonValue } from 'pith';
import { migrated, Queries, type Migration } from '@pith/database-queries';

interface Tables {
  /** Responses by their ids, as they were sent. */
  openai_api__responses: {
    readonly id: string;
    readonly user_id: string;
    readonly thread_id: string;
    readonly body: string;
    readonly at: number;
  };
}

const MIGRATIONS: readonly Migration[] = [
  [
    'CREATE TABLE openai_api__responses (id text PRIMARY KEY, user_id text NOT NULL, thread_id text NOT NULL, body text NOT NULL, at bigint NOT NULL)',
    'CREATE INDEX openai_api__responses_thread ON openai_api__responses (thread_id, id)',
    'CREATE INDEX openai_api__responses_at ON openai_api__responses (at)',
  ],
];

const KEPT_MS = 30 * 24 * 3_600_000;

/** A response that is kept. `isLast`: none of its thread came after it. */
interface KeptResponse {
  readonly threadId: string;
  readonly body: JsonValue;
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

  async keep(
    id: string,
    { userId, threadId, body }: { readonly userId: string; readonly threadId: string; readonly body: JsonValue },
  ): Promise<void> {
    const at = this.clock.now();
    const row = { id, user_id: userId, thread_id: threadId, body: JSON.stringify(body), at };
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
    return { threadId: row.thread_id, body: JSON.parse(row.body) as JsonValue, isLast: later === null };
  }

  /** False: there is none of this user. */
  async remove(id: string, userId: string): Promise<boolean> {
    const [removed] = await this.#tables.write((db) => [
      db.deleteFrom('openai_api__responses').where('id', '=', id).where('user_id', '=', userId),
    ]);
    return removed === 1;
  }
}
