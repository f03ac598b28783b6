import { createHash } from 'node:crypto';
import { ulid } from 'ulid';
import { migrate, Queries, type Migration, type SqlDatabase } from '@pith/database-queries';

interface SeenRow {
  readonly request: string;
  readonly run_id: string;
  readonly at: number;
}

interface Tables {
  skill_webhooks__seen: SeenRow;
}

const MIGRATIONS: readonly Migration[] = [
  (db) => [
    db.schema
      .createTable('skill_webhooks__seen')
      .addColumn('request', 'text', (column) => column.primaryKey())
      .addColumn('run_id', 'text', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull()),
    db.schema.createIndex('skill_webhooks__seen_at').on('skill_webhooks__seen').column('at'),
  ],
];

const REMEMBERED_MS = 24 * 3_600_000;

/** Signed requests of the last day, on disk: the id of each with the run that it started. */
export class SeenRequests {
  readonly #queries: Queries<Tables>;
  #ready: Promise<void> | undefined;

  constructor(
    database: SqlDatabase,
    private readonly clock: { now(): number },
  ) {
    this.#queries = new Queries(database);
  }

  /** The run that this request starts: the same for each time it comes within a day. */
  async runOf(skillId: string, id: string): Promise<string> {
    await (this.#ready ??= migrate(this.#queries, 'skill_webhooks', MIGRATIONS));
    const now = this.clock.now();
    const request = createHash('sha256').update(`${skillId}\0${id}`).digest('hex');
    await this.#queries.write((db) => [
      db.deleteFrom('skill_webhooks__seen').where('at', '<', now - REMEMBERED_MS),
      db
        .insertInto('skill_webhooks__seen')
        .values({ request, run_id: ulid(now), at: now })
        .onConflict((conflict) => conflict.doNothing()),
    ]);
    const row = await this.#queries.first((db) => db.selectFrom('skill_webhooks__seen').select('run_id').where('request', '=', request));
    return row?.run_id ?? ulid(now);
  }

  /** Started nothing: it may come again. */
  async forget(skillId: string, id: string): Promise<void> {
    const request = createHash('sha256').update(`${skillId}\0${id}`).digest('hex');
    await this.#queries.write((db) => [db.deleteFrom('skill_webhooks__seen').where('request', '=', request)]);
  }
}
