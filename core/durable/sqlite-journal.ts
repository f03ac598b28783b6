import type { JsonValue, PublishOptions } from '../contract/index.ts';
import { type SqlRow, type Fence, isHeldInWrite, type Statement, type Store } from '../store/index.ts';
import {
  type DeliveryRow,
  type DeliveryRows,
  type Journal,
  type NewEvent,
  type PlannedSchedule,
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

/** The journal in `pith.db`. */
export interface SqliteJournal {
  readonly events: Journal;
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
   CREATE TABLE schedules (
     name TEXT PRIMARY KEY, spec TEXT NOT NULL, next INTEGER NOT NULL, event INTEGER NOT NULL
   ) WITHOUT ROWID;`,
];

export function createSqliteJournal({ store, clock, handlers, written }: SqliteJournalOptions): SqliteJournal {
  store.migrate('journal', SCHEMA);
  const prepare = preparesEvents({ clock, handlers });
  const write = (statement: Statement, event: NewEvent): number => {
    const id = insert(statement, event);
    statement.onCommit(() => written({ id: String(id), ...event }));
    return id;
  };
  return {
    events: eventsOf(store),
    deliveries: deliveriesOf(store),
    schedules: schedulesOf(store, write),
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

function eventsOf(store: Store): Journal {
  return {
    async event(id) {
      const row = store.get('SELECT topic, payload, correlation, at FROM events WHERE id = ?', id);
      if (row === null) return null;
      const { topic, payload, correlation, at } = row;
      return {
        topic: String(topic),
        payload: JSON.parse(String(payload)) as JsonValue,
        correlationId: typeof correlation === 'string' ? correlation : `event-${id}`,
        at: Number(at),
      };
    },
    revision: async () => Number(store.get('PRAGMA data_version')?.data_version),
    async tidy(declared, { now, goneBefore, eventsBefore }) {
      const known = store.all('SELECT DISTINCT handler FROM deliveries').map(({ handler }) => String(handler));
      const gone = JSON.stringify(known.filter((handler) => !declared.has(handler)));
      await store.write((statement) => {
        statement('DELETE FROM handlersgone WHERE handler NOT IN (SELECT value FROM json_each(?))', gone);
        statement('INSERT INTO handlersgone SELECT value, ? FROM json_each(?) WHERE true ON CONFLICT DO NOTHING', now, gone);
        statement('DELETE FROM deliveries WHERE handler IN (SELECT handler FROM handlersgone WHERE since <= ?)', goneBefore);
        statement('DELETE FROM deliveries WHERE due < 0 AND event IN (SELECT id FROM events WHERE at <= ?)', eventsBefore);
        // Keeps the newest, so that no id is given twice.
        statement(
          `DELETE FROM events WHERE at <= ? AND id < (SELECT max(id) FROM events) AND id NOT IN (SELECT event FROM deliveries)`,
          eventsBefore,
        );
      });
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

function deliveriesOf(store: Store): DeliveryRows {
  const rows = (sql: string, handler: string, ...values: (string | number)[]) =>
    store.all(`SELECT event, key, attempts FROM deliveries WHERE handler = ? ${sql}`, handler, ...values).map(deliveryOf);
  const has = (sql: string, ...values: (string | number)[]) =>
    store.get(`SELECT 1 FROM deliveries WHERE handler = ? AND ${sql} LIMIT 1`, ...values) !== null;
  const fenced = (fence: Fence, run: (statement: Statement) => void) =>
    store.write((statement) => {
      if (isHeldInWrite(store, fence)) run(statement);
    });
  return {
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
        isOverdue: has('due > 0 AND due <= ?', handler, now),
        isReady: has('due = 0', handler),
      };
    },
    async missed(handler, until, recent) {
      const row = store.get(
        `SELECT count(*) FILTER (WHERE at > ?) AS recent, count(*) FILTER (WHERE at <= ?) AS old
           FROM deliveries JOIN events ON id = event WHERE handler = ? AND due >= 0 AND at <= ? AND topic = 'notify'`,
        recent,
        recent,
        handler,
        until,
      );
      return { recent: Number(row?.recent ?? 0), old: Number(row?.old ?? 0) };
    },
    done: (handler, event, fence) =>
      fenced(fence, (statement) => void statement('DELETE FROM deliveries WHERE handler = ? AND event = ?', handler, event)),
    change: (handler, { event, attempts, due, error }, fence) =>
      fenced(fence, (statement) => {
        statement(
          'UPDATE deliveries SET attempts = ?, due = coalesce(?, due), error = coalesce(?, error) WHERE handler = ? AND event = ?',
          attempts,
          due ?? null,
          error?.replaceAll('\0', ' ').slice(0, 2000) ?? null,
          handler,
          event,
        );
      }),
    async advance(now, latest) {
      const late = 'due > ? AND error IS NOT NULL';
      if (store.get(`SELECT 1 FROM deliveries WHERE ${late} LIMIT 1`, latest) === null) return;
      await store.write((statement) => void statement(`UPDATE deliveries SET due = ? WHERE ${late}`, now, latest));
    },
  };
}

function deliveryOf({ event, key, attempts }: SqlRow): DeliveryRow {
  return { event: Number(event), key: typeof key === 'string' ? key : null, attempts: Number(attempts) };
}

function schedulesOf(store: Store, append: (statement: Statement, event: NewEvent) => number): ScheduleRows {
  const list = () =>
    store
      .all('SELECT name, spec, next, event FROM schedules')
      .map(({ name, spec, next, event }) => ({ name: String(name), spec: String(spec), next: Number(next), event: Number(event) }));

  const put = (statement: Statement, { name, spec, next }: PlannedSchedule): void => {
    if (next === null) return void statement('DELETE FROM schedules WHERE name = ?', name);
    statement(
      `INSERT INTO schedules VALUES (?, ?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET spec = excluded.spec, next = excluded.next, event = excluded.event`,
      name,
      spec,
      next.at,
      append(statement, next.event),
    );
  };

  return {
    list: async () => list(),
    plan: (wanted, now) =>
      store.write((statement) => {
        const missing = new Map(wanted.map((schedule) => [schedule.name, schedule]));
        for (const { name, spec, next, event } of list()) {
          const schedule = missing.get(name);
          if (schedule?.spec !== spec || next > schedule.latest) {
            statement('DELETE FROM deliveries WHERE event = ? AND due > 0', event);
            statement('DELETE FROM schedules WHERE name = ?', name);
            continue;
          }
          missing.delete(name);
          if (next > now) continue;
          statement(
            'DELETE FROM deliveries WHERE handler = ? AND key = ? AND event < ? AND attempts = 0 AND due <= ?',
            schedule.handler,
            schedule.key,
            event,
            now,
          );
          put(statement, schedule);
        }
        for (const schedule of missing.values()) put(statement, schedule);
      }),
  };
}
