import { migrated, Queries, type Migration, type SqlDatabase } from '@pith/database-queries';
import { ulid } from 'ulid';
import { sha256 } from '@pith/plain-data';
import { randomBytes } from 'node:crypto';
import { newSigningKey } from './signature.ts';

interface Tables {
  /** Signed requests, by the digest of their ids. */
  skill_webhooks__seen: { readonly request: string; readonly run_id: string; readonly at: number };
  /** Keys that sign results. */
  skill_webhooks__keys: { readonly skill_id: string; readonly signing_key: string };
}

type WebhookTables = Queries<Tables>;

const MIGRATIONS: readonly Migration[] = [
  [
    'CREATE TABLE skill_webhooks__seen (request text PRIMARY KEY, run_id text NOT NULL, at bigint NOT NULL)',
    'CREATE INDEX skill_webhooks__seen_at ON skill_webhooks__seen (at)',
  ],
  ['CREATE TABLE skill_webhooks__keys (skill_id text PRIMARY KEY, signing_key text NOT NULL)'],
];

/** The tables of webhooks, created on first use. */
export function webhookTables(database: SqlDatabase): WebhookTables {
  return new Queries(migrated(database, 'skill_webhooks', MIGRATIONS));
}

const REMEMBERED_MS = 24 * 3_600_000;

/** The signed requests of the last day, on disk: each id with the run that it started. */
export class SeenRequests {
  constructor(
    private readonly tables: WebhookTables,
    private readonly clock: { now(): number },
  ) {}

  /** The run of a request from the last day; null: it is new. */
  async find(skillId: string, id: string): Promise<string | null> {
    const since = this.clock.now() - REMEMBERED_MS;
    const row = await this.tables.first((db) =>
      db.selectFrom('skill_webhooks__seen').select('run_id').where('request', '=', digestOf(skillId, id)).where('at', '>=', since),
    );
    return row?.run_id ?? null;
  }

  /** Records a new request and names its run: the same one for concurrent copies of the request. */
  async add(skillId: string, id: string): Promise<string> {
    const now = this.clock.now();
    const run_id = ulid(now);
    await this.tables.write((db) => [
      db.deleteFrom('skill_webhooks__seen').where('at', '<', now - REMEMBERED_MS),
      db
        .insertInto('skill_webhooks__seen')
        .values({ request: digestOf(skillId, id), run_id, at: now })
        .onConflict((conflict) => conflict.doNothing()),
    ]);
    return (await this.find(skillId, id)) ?? run_id;
  }
}

function digestOf(skillId: string, id: string): string {
  return sha256(`${skillId}\0${id}`);
}

/** The key with which each skill signs its results. It signs nothing else, and is not valid for requests. */
export class ResultKeys {
  constructor(private readonly tables: WebhookTables) {}

  /** Created on first use; receivers need it to check signatures. */
  async of(skillId: string): Promise<string> {
    const find = () =>
      this.tables.first((db) => db.selectFrom('skill_webhooks__keys').select('signing_key').where('skill_id', '=', skillId));
    const known = await find();
    if (known !== null) return known.signing_key;
    const signing_key = newSigningKey(randomBytes(32));
    await this.tables.write((db) => [
      db
        .insertInto('skill_webhooks__keys')
        .values({ skill_id: skillId, signing_key })
        .onConflict((conflict) => conflict.doNothing()),
    ]);
    return (await find())?.signing_key ?? signing_key;
  }

  /** Replaces the key. */
  async renew(skillId: string): Promise<string> {
    const signing_key = newSigningKey(randomBytes(32));
    await this.tables.write((db) => [
      db
        .insertInto('skill_webhooks__keys')
        .values({ skill_id: skillId, signing_key })
        .onConflict((conflict) => conflict.column('skill_id').doUpdateSet({ signing_key })),
    ]);
    return signing_key;
  }
}
