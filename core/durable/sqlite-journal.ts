import type { Clock, JsonValue, PublishOptions } from '../contract/index.ts';
import type { SqlRow, Statement, Store } from '../store/index.ts';
import { type Attempt, createJobStore, type SqliteJobStore } from './jobs/index.ts';
import {
  type DeliveryRow,
  type DeliveryRows,
  type NewEvent,
  type PrepareEvent,
  preparesEvents,
  type PreparationOptions,
  type ScheduleRows,
  type WrittenEvent,
} from './journal.ts';

export interface SqliteJournalOptions extends PreparationOptions {
  readonly store: Store;
  /** Called for each durable event. Must not throw. */
  written(event: WrittenEvent): void;
}

/** The journal in `pith.db`. Ids of events are in the order of commits. */
export interface SqliteJournal {
  readonly deliveries: DeliveryRows;
  readonly schedules: ScheduleRows;
  readonly prepare: PrepareEvent;
  /** Resolves the event's id when it is durable; the events of one tick share a commit. Rejects as `prepare` throws. */
  publish(topic: string, payload: object, options?: PublishOptions): Promise<string>;
  /** Writes an event in the transaction of `statement`, for modules with rows in the same file. Returns its id; throws as `prepare`. */
  append(statement: Statement, topic: string, payload: object, options?: PublishOptions): number;
}

/**
 * Table names without an underscore, so that no extension's prefix reaches them. A successful delivery is deleted; `due` is 0 for one that
 * may run now, a time for one that waits (a timer or a retry), and -1 for a dead letter.
 */
const SCHEMA = [
  `CREATE TABLE events (
     id INTEGER PRIMARY KEY, topic TEXT NOT NULL, key TEXT, payload TEXT NOT NULL, correlation TEXT, at INTEGER NOT NULL
   );
   CREATE TABLE deliveries (
     handler TEXT NOT NULL, event INTEGER NOT NULL, key TEXT, due INTEGER NOT NULL, attempts INTEGER NOT NULL, error TEXT,
     PRIMARY KEY (handler, event)
   ) WITHOUT ROWID;
   CREATE INDEX deliverieswaiting ON deliveries (handler, due) WHERE due > 0;
   CREATE INDEX deliverieskeyed ON deliveries (handler, key, event) WHERE key IS NOT NULL;
   CREATE INDEX deliveriesdead ON deliveries (handler) WHERE due < 0;
   CREATE TABLE handlersgone (handler TEXT PRIMARY KEY, since INTEGER NOT NULL) WITHOUT ROWID;
   -- What the Pith before jobs has planned.
   CREATE TABLE schedules (
     name TEXT PRIMARY KEY, spec TEXT NOT NULL, next INTEGER NOT NULL, event INTEGER NOT NULL
   ) WITHOUT ROWID;`,
];

export function createSqliteJournal({ store, clock, handlers, written }: SqliteJournalOptions): SqliteJournal {
  store.migrate('journal', SCHEMA);
  const tables: Tables = { store, clock, jobs: createJobStore(store, clock) };
  const prepare = preparesEvents({ clock, handlers });
  const write = (statement: Statement, event: NewEvent): number => {
    const id = insert(statement, event);
    const jobs = tables.jobs.within(statement);
    for (const handler of event.handlers) jobs.resumeOnly(deliveryJob(handler));
    statement.onCommit(() => written({ id: String(id), ...event }));
    return id;
  };
  return {
    deliveries: deliveriesOf(tables),
    schedules: schedulesOf(tables, write),
    prepare,
    async publish(...given) {
      const event = prepare(...given);
      let id = 0;
      await store.write((statement) => void (id = write(statement, event)));
      return String(id);
    },
    append: (statement, ...given) => write(statement, prepare(...given)),
  };
}

/** SQLite gives the id: one more than the highest. */
function insert(statement: Statement, { topic, text, correlationId, at, handlers, key, due }: NewEvent): number {
  const { lastInsertRowid } = statement('INSERT INTO events VALUES (NULL, ?, ?, ?, ?, ?)', topic, key, text, correlationId, at);
  const id = Number(lastInsertRowid);
  for (const handler of handlers) statement('INSERT INTO deliveries VALUES (?, ?, ?, ?, 0, NULL)', handler, id, key, due);
  return id;
}

interface Tables {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly jobs: SqliteJobStore;
}

/** The name of the job that works on a handler's deliveries: open while there are some. */
export function deliveryJob(handler: string): string {
  return `deliver ${handler}`;
}

const DONE = { kind: 'done', result: 'null' } as const;
const DAY_MS = 86_400_000;
const KEEP_EVENTS_MS = 30 * DAY_MS;
const KEEP_GONE_MS = 7 * DAY_MS;
/** Rows that are deleted in one commit. */
const TIDY_AT_ONCE = 1_000;

function deliveriesOf({ store, jobs }: Tables): DeliveryRows {
  const rows = (sql: string, handler: string, ...values: (string | number)[]) =>
    store.all(`SELECT event, key, attempts FROM deliveries WHERE handler = ? ${sql}`, handler, ...values).map(deliveryOf);
  const has = (sql: string, ...values: (string | number)[]) =>
    store.get(`SELECT 1 FROM deliveries WHERE handler = ? AND ${sql} LIMIT 1`, ...values) !== null;
  const guarded = async (attempt: Attempt, run: (statement: Statement) => { readonly changes: number }): Promise<boolean> => {
    let changes = 0;
    await store.write((statement) => {
      jobs.within(statement).guard(attempt);
      ({ changes } = run(statement));
    });
    return changes > 0;
  };
  return {
    async event(handler, id) {
      const row = store.get(
        'SELECT topic, payload, correlation, at FROM deliveries JOIN events ON id = event WHERE handler = ? AND event = ?',
        handler,
        id,
      );
      if (row === null) return null;
      const { topic, payload, correlation, at } = row;
      return {
        topic: String(topic),
        payload: JSON.parse(String(payload)) as JsonValue,
        correlationId: typeof correlation === 'string' ? correlation : `event-${id}`,
        at: Number(at),
      };
    },
    load: async (handler, { after, now, mostDue, mostReady }) => ({
      due: rows('AND due > 0 AND due <= ? ORDER BY due, event LIMIT ?', handler, now, mostDue),
      ready: rows('AND event > ? AND due = 0 ORDER BY event LIMIT ?', handler, after, mostReady),
    }),
    ofKey: async (handler, key, limit) => rows('AND key = ? AND due = 0 ORDER BY event LIMIT ?', handler, key, limit),
    held: async (handler) => rows('AND due > 0 AND attempts > 0 AND key IS NOT NULL ORDER BY event', handler),
    async waiting(handler, now) {
      const next = store.get('SELECT min(due) AS next FROM deliveries WHERE handler = ? AND due > ?', handler, Math.max(0, now))?.next;
      return {
        next: typeof next === 'number' ? next : null,
        isDue: has('due = 0', handler) || has('due > 0 AND due <= ?', handler, now),
      };
    },
    async missed(handler, until, recent) {
      const row = store.get(
        `SELECT count(*) FILTER (WHERE at > ?) AS recent, count(*) FILTER (WHERE at <= ?) AS old
           FROM deliveries JOIN events ON id = event WHERE handler = ? AND due >= 0 AND at < ? AND topic = 'notify'`,
        recent,
        recent,
        handler,
        until,
      );
      return { recent: Number(row?.recent ?? 0), old: Number(row?.old ?? 0) };
    },
    done: (handler, event, attempt) =>
      guarded(attempt, (statement) => statement('DELETE FROM deliveries WHERE handler = ? AND event = ?', handler, event)),
    change: (handler, { event, attempts, due, error }, attempt) =>
      guarded(attempt, (statement) =>
        statement(
          'UPDATE deliveries SET attempts = ?, due = coalesce(?, due), error = coalesce(?, error) WHERE handler = ? AND event = ?',
          attempts,
          due ?? null,
          error?.replaceAll('\0', ' ').slice(0, 2000) ?? null,
          handler,
          event,
        ),
      ),
    async end(handler, attempt) {
      let isOver = false;
      await store.write((statement) => {
        isOver = !has('due >= 0', handler) && jobs.within(statement).settle(attempt, DONE, false);
      });
      return isOver;
    },
    async repair(now, latest) {
      const handlers = store.all('SELECT DISTINCT handler FROM deliveries WHERE due >= 0');
      if (handlers.length === 0) return;
      await store.write((statement) => {
        statement('UPDATE deliveries SET due = ? WHERE due > ? AND error IS NOT NULL', now, latest);
        const work = jobs.within(statement);
        for (const { handler } of handlers) work.resumeOnly(deliveryJob(String(handler)));
      });
    },
    async tidy(declared, now) {
      const [goneBefore, eventsBefore] = [now - KEEP_GONE_MS, now - KEEP_EVENTS_MS];
      const known = store.all('SELECT DISTINCT handler FROM deliveries').map(({ handler }) => String(handler));
      const gone = JSON.stringify(known.filter((handler) => !declared.has(handler)));
      await store.write((statement) => {
        const forgotten = store.all('SELECT handler FROM handlersgone WHERE since <= ?', goneBefore);
        for (const { handler } of forgotten)
          if (!declared.has(String(handler))) jobs.within(statement).forgetOnly(deliveryJob(String(handler)));
        statement('DELETE FROM handlersgone WHERE handler NOT IN (SELECT value FROM json_each(?))', gone);
        statement('INSERT INTO handlersgone SELECT value, ? FROM json_each(?) WHERE true ON CONFLICT DO NOTHING', now, gone);
      });
      const deleteOld = async (table: string, key: string, where: string, before: number): Promise<void> => {
        const sql = `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${where} LIMIT ${TIDY_AT_ONCE})`;
        const deleteSome = async (): Promise<number> => {
          let deleted = 0;
          await store.write((statement) => void (deleted = statement(sql, before).changes));
          return deleted;
        };
        while ((await deleteSome()) === TIDY_AT_ONCE);
      };
      await deleteOld('deliveries', 'handler, event', 'handler IN (SELECT handler FROM handlersgone WHERE since <= ?)', goneBefore);
      await deleteOld('deliveries', 'handler, event', 'due < 0 AND event IN (SELECT id FROM events WHERE at <= ?)', eventsBefore);
      // Keeps the newest, so that no id is given twice.
      const isOver = 'at <= ? AND id < (SELECT max(id) FROM events) AND id NOT IN (SELECT event FROM deliveries)';
      await deleteOld('events', 'id', isOver, eventsBefore);
    },
    async deadLetters(limit) {
      const rows = store.all(
        `SELECT handler, event, coalesce(topic, '') AS topic, coalesce(error, '') AS error FROM deliveries LEFT JOIN events ON id = event
           WHERE due < 0 ORDER BY event DESC LIMIT ?`,
        limit,
      );
      return rows.map(({ handler, event, topic, error }) => ({
        handler: String(handler),
        event: Number(event),
        topic: String(topic),
        error: String(error),
      }));
    },
    async orphans(declared) {
      const rows = store.all('SELECT handler, count(*) AS count FROM deliveries WHERE due >= 0 GROUP BY handler');
      return rows
        .map(({ handler, count }) => ({ handler: String(handler), count: Number(count) }))
        .filter(({ handler }) => !declared.has(handler));
    },
  };
}

function deliveryOf({ event, key, attempts }: SqlRow): DeliveryRow {
  return { event: Number(event), key: typeof key === 'string' ? key : null, attempts: Number(attempts) };
}

function schedulesOf({ store, clock, jobs }: Tables, append: (statement: Statement, event: NewEvent) => number): ScheduleRows {
  return {
    publish: ({ job, name, handler, at }, event) =>
      store.write((statement) => {
        const isOurs = jobs.within(statement).settle(job, DONE, false);
        const former = store.get('SELECT next FROM schedules WHERE name = ?', name)?.next;
        if (!isOurs || Number(former ?? -Infinity) >= at) return;
        statement('DELETE FROM schedules WHERE name = ?', name);
        const earlier = 'handler = ? AND key = ? AND event < ? AND attempts = 0 AND due <= ?';
        statement(`DELETE FROM deliveries WHERE ${earlier}`, handler, event.key, append(statement, event), clock.now());
      }),
    async endFormer(specs) {
      const ended = store.all('SELECT name, spec, event FROM schedules').filter(({ name, spec }) => specs.get(String(name)) !== spec);
      if (ended.length === 0) return;
      await store.write((statement) => {
        for (const { name, event } of ended) {
          statement('DELETE FROM deliveries WHERE event = ? AND due > 0', Number(event));
          statement('DELETE FROM schedules WHERE name = ?', String(name));
        }
      });
    },
  };
}
