import { migrate, Queries, type Migration, type SqlDatabase } from '@pith/database-queries';
import { oncePromised } from '@pith/promises';

interface Tables {
  /** Signed requests, by the digest of their ids. */
  skill_webhooks__seen: { readonly request: string; readonly run_id: string; readonly at: number };
  /** Keys that sign results. */
  skill_webhooks__keys: { readonly skill_id: string; readonly signing_key: string };
}

export type WebhookTables = () => Promise<Queries<Tables>>;

const MIGRATIONS: readonly Migration[] = [
  (db) => [
    db.schema
      .createTable('skill_webhooks__seen')
      .addColumn('request', 'text', (column) => column.primaryKey())
      .addColumn('run_id', 'text', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull()),
    db.schema.createIndex('skill_webhooks__seen_at').on('skill_webhooks__seen').column('at'),
  ],
  (db) => [
    db.schema
      .createTable('skill_webhooks__keys')
      .addColumn('skill_id', 'text', (column) => column.primaryKey())
      .addColumn('signing_key', 'text', (column) => column.notNull()),
  ],
];

/** The tables of webhooks, made when they are first asked for. */
export function webhookTables(database: SqlDatabase): WebhookTables {
  return oncePromised(async () => {
    const queries = new Queries<Tables>(database);
    await migrate(queries, 'skill_webhooks', MIGRATIONS);
    return queries;
  });
}
