import { migrated, Queries, type Migration, type SqlDatabase } from '@pith/database-queries';

interface Tables {
  /** What changed, in order; `user_id` null: everybody may see it. */
  rest_api__feed: {
    readonly place?: number;
    readonly at: number;
    readonly kind: string;
    readonly id: string;
    readonly user_id: string | null;
  };
  /** `feed`: names this journal; `cursors`: seals them; `seen`, `jobs`: the places of conversations and of jobs up to which it has what changed. */
  rest_api__marks: { readonly name: string; readonly value: string };
  /** Threads that have an id and no message yet. */
  rest_api__begun: { readonly thread: string; readonly user_id: string; readonly at: number; readonly title?: string };
  /** What people were told outside of turns, until they dismiss it. */
  rest_api__notices: {
    readonly id: string;
    readonly at: number;
    readonly user_id: string;
    readonly kind: string;
    readonly text: string;
    readonly thread: string | null;
    /** As JSON. */
    readonly about: string | null;
  };
  /** Messages that wait in busy threads, in the order in which they came. */
  rest_api__queued: {
    readonly place?: number;
    readonly thread: string;
    readonly key: string;
    readonly asked: string;
    readonly user_id: string;
    /** 1: it has begun or is about to, and goes on before what waits. */
    readonly resumes: number;
    readonly at: number;
  };
  /** Keys of messages, and of what was said with each. */
  rest_api__keys: { readonly thread: string; readonly key: string; readonly digest: string; readonly at: number };
  /** Of threads whose last turn ended without an answer: how. */
  rest_api__ends: { readonly thread: string; readonly ended: string; readonly at: number };
  /** Answers to requests with an `Idempotency-Key`; `thread`: the conversation that one tells of. */
  rest_api__answers: {
    readonly request: string;
    readonly digest: string;
    readonly answer: string;
    readonly at: number;
    readonly thread: string | null;
  };
}

export type ApiTables = Queries<Tables>;

const MIGRATIONS: readonly Migration[] = [
  [
    'CREATE TABLE rest_api__feed (place integer PRIMARY KEY, at bigint NOT NULL, kind text NOT NULL, id text NOT NULL, user_id text)',
    'CREATE INDEX rest_api__feed_at ON rest_api__feed (at)',
    'CREATE TABLE rest_api__marks (name text PRIMARY KEY, value text NOT NULL)',
    'CREATE TABLE rest_api__begun (thread text PRIMARY KEY, user_id text NOT NULL, at bigint NOT NULL)',
    'CREATE TABLE rest_api__answers (request text PRIMARY KEY, digest text NOT NULL, answer text NOT NULL, at bigint NOT NULL)',
    'CREATE INDEX rest_api__answers_at ON rest_api__answers (at)',
  ],
  [
    'CREATE TABLE rest_api__notices (id text PRIMARY KEY, at bigint NOT NULL, user_id text NOT NULL, kind text NOT NULL, text text NOT NULL, thread text)',
    'CREATE INDEX rest_api__notices_user ON rest_api__notices (user_id, at)',
    'CREATE TABLE rest_api__queued (place integer PRIMARY KEY, thread text NOT NULL, key text NOT NULL, asked text NOT NULL, UNIQUE (thread, key))',
  ],
  [
    'CREATE TABLE rest_api__ends (thread text PRIMARY KEY, ended text NOT NULL)',
    "ALTER TABLE rest_api__queued ADD COLUMN user_id text NOT NULL DEFAULT ''",
    'ALTER TABLE rest_api__queued ADD COLUMN resumes integer NOT NULL DEFAULT 0',
    "UPDATE rest_api__queued SET user_id = json_extract(asked, '$.userId')",
    'CREATE TABLE rest_api__keys (thread text NOT NULL, key text NOT NULL, digest text NOT NULL, PRIMARY KEY (thread, key))',
  ],
  ['ALTER TABLE rest_api__notices ADD COLUMN about text'],
  ["UPDATE rest_api__feed SET id = '' WHERE kind = 'skill'"],
  ["ALTER TABLE rest_api__begun ADD COLUMN title text NOT NULL DEFAULT ''"],
  [
    ...['queued', 'keys', 'ends'].map((name) => `ALTER TABLE rest_api__${name} ADD COLUMN at bigint NOT NULL DEFAULT 0`),
    'ALTER TABLE rest_api__answers ADD COLUMN thread text',
    'CREATE INDEX rest_api__answers_thread ON rest_api__answers (thread)',
    'CREATE INDEX rest_api__notices_thread ON rest_api__notices (thread)',
    'DELETE FROM rest_api__answers',
  ],
];

/** What is kept of conversations. */
const OF_THREADS = [
  'rest_api__begun',
  'rest_api__notices',
  'rest_api__queued',
  'rest_api__keys',
  'rest_api__ends',
  'rest_api__answers',
] as const;

/** A conversation that was deleted, and when: what is kept later is of another one of its id. */
export interface RemovedThread {
  readonly threadId: string;
  readonly at: number;
}

/** A value that is made once, and is the same in every process that serves. */
export async function markOf(tables: ApiTables, name: string, make: () => string): Promise<string> {
  const value = make();
  await tables.write((db) => [
    db
      .insertInto('rest_api__marks')
      .values({ name, value })
      .onConflict((each) => each.doNothing()),
  ]);
  const row = await tables.first((db) => db.selectFrom('rest_api__marks').select('value').where('name', '=', name));
  return row?.value ?? value;
}

export async function forgetThread(tables: ApiTables, { threadId, at }: RemovedThread): Promise<void> {
  await tables.write((db) => OF_THREADS.map((table) => db.deleteFrom(table).where('thread', '=', threadId).where('at', '<=', at)));
}

/** How long what is kept between requests is kept. */
export const DAY_MS = 24 * 3_600_000;

/** Created on first use. */
export function apiTables(database: SqlDatabase): ApiTables {
  return new Queries(migrated(database, 'rest_api', MIGRATIONS));
}
