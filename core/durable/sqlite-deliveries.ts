import type { Clock, JsonValue, TopicMap } from '../contract/index.ts';
import type { SqlRow, Statement, Store } from '../store/index.ts';
import { type Attempt, createJobStore, DONE } from './jobs/index.ts';
import type { NewEvent } from './new-event.ts';

/** A delivery in memory; its event is read when it runs. */
export interface DeliveryRow {
  readonly event: number;
  readonly key: string | null;
  /** The number of failed attempts. */
  readonly attempts: number;
}

/** What a handler is told. */
export interface DeliveredEvent extends Pick<NewEvent, 'topic' | 'at' | 'traceparent'> {
  readonly payload: JsonValue;
  readonly correlationId: string;
}

export interface DeliveryChange extends Pick<DeliveryRow, 'event' | 'attempts'> {
  /** The time of the next attempt; -1 for never. Absent: unchanged. */
  readonly due?: number;
  readonly error?: string;
}

/** The name of the job that works on a handler's deliveries: open while there are some. */
export function deliveryJob(handler: string): string {
  return `deliver ${handler}`;
}

const DAY_MS = 86_400_000;
const KEEP_EVENTS_MS = 30 * DAY_MS;
const KEEP_GONE_MS = 7 * DAY_MS;
/** Rows that are deleted in one commit. */
const TIDY_AT_ONCE = 1_000;
/** What notices were about that are out of date, and the last event after a given one that says so. */
const SETTLED = `SELECT json_extract(payload, '$.about.kind') AS kind, json_extract(payload, '$.about.id') AS what, max(id) AS last
  FROM events WHERE id > ? AND topic = 'notice.settled' GROUP BY 1, 2`;
/** Of a `DeliveryRow`. */
const FIELDS = 'event, key, attempts';

/**
 * Deliveries by handler: an event, its deliveries and the jobs that work on them are one commit. A successful delivery is deleted; `due` is
 * 0 for one that may run now, a time for one that waits (a timer or a retry), and -1 for one that failed too often.
 */
export class Deliveries {
  readonly #jobs;

  constructor(
    private readonly store: Store,
    clock: Pick<Clock, 'now'>,
  ) {
    this.#jobs = createJobStore(store, clock);
  }

  insert(statement: Statement, event: number, { handlers, key, due }: Pick<NewEvent, 'handlers' | 'key' | 'due'>): void {
    const jobs = this.#jobs.within(statement);
    for (const handler of handlers) {
      statement('INSERT INTO deliveries (handler, event, key, due, attempts) VALUES (?, ?, ?, ?, 0)', handler, event, key, due);
      jobs.resumeOnly(deliveryJob(handler));
    }
  }

  /** null: the delivery is over, or was dropped. */
  event(handler: string, id: number): DeliveredEvent | null {
    const row = this.store.get(
      `SELECT topic, payload, correlation, at, traceparent FROM deliveries JOIN events ON id = deliveries.event
         LEFT JOIN eventtraces ON eventtraces.event = id WHERE handler = ? AND deliveries.event = ?`,
      handler,
      id,
    );
    if (row === null) return null;
    const { topic, payload, correlation, at, traceparent } = row;
    return {
      topic: String(topic),
      payload: JSON.parse(String(payload)) as JsonValue,
      correlationId: typeof correlation === 'string' ? correlation : `event-${id}`,
      at: Number(at),
      traceparent: typeof traceparent === 'string' ? traceparent : null,
    };
  }

  /** Those that wait until a time, and may run now; of `keys` only these events. */
  due(handler: string, now: number, keys: ReadonlyMap<string, number>, limit: number): readonly DeliveryRow[] {
    const free = `(key IS NULL OR key NOT IN (SELECT value FROM json_each(?)) OR event IN (SELECT value FROM json_each(?)))`;
    const [taken, first] = [JSON.stringify([...keys.keys()]), JSON.stringify([...keys.values()])];
    return this.#rows(`AND due > 0 AND due <= ? AND ${free} ORDER BY due, event LIMIT ?`, handler, now, taken, first, limit);
  }

  /** Those that wait for nothing, of events later than `after`. */
  ready(handler: string, after: number, limit: number): readonly DeliveryRow[] {
    return this.#rows('AND event > ? AND due = 0 ORDER BY event LIMIT ?', handler, after, limit);
  }

  /** The first of a key that may run now. SQLite would read all rows of the handler in their order for it. */
  firstOfKey(handler: string, key: string, now: number): DeliveryRow | undefined {
    const ofKey = 'INDEXED BY deliverieskeyed WHERE handler = ? AND key = ?';
    const row = this.store.get(
      `SELECT ${FIELDS} FROM deliveries ${ofKey} AND due >= 0 AND due <= ? ORDER BY event LIMIT 1`,
      handler,
      key,
      now,
    );
    return row === null ? undefined : deliveryOf(row);
  }

  /** Those of a key that wait for another attempt. */
  held(handler: string): readonly DeliveryRow[] {
    return this.#rows('AND due > 0 AND attempts > 0 AND key IS NOT NULL ORDER BY event', handler);
  }

  /** The first due time after `now`. */
  next(handler: string, now: number): number | null {
    // `due > 0` is what the index of those that wait asks for
    const next = this.store.get('SELECT min(due) AS next FROM deliveries WHERE handler = ? AND due > 0 AND due > ?', handler, now)?.next;
    return typeof next === 'number' ? next : null;
  }

  /** Whether some may run now. */
  isDue(handler: string, now: number): boolean {
    return this.#has('due = 0', handler) || this.#has('due > 0 AND due <= ?', handler, now);
  }

  /** How many notices before `until` wait and are not out of date: those later than `recent`, and older ones. */
  missed(handler: string, until: number, recent: number): { readonly recent: number; readonly old: number } {
    const row = this.store.get(
      `SELECT count(*) FILTER (WHERE at > ?) AS recent, count(*) FILTER (WHERE at <= ?) AS old
         FROM deliveries JOIN events ON id = event LEFT JOIN (${SETTLED})
           ON kind = json_extract(payload, '$.about.kind') AND what = json_extract(payload, '$.about.id') AND last > id
         WHERE last IS NULL AND handler = ? AND due >= 0 AND at < ? AND topic = 'notify'`,
      recent,
      recent,
      0,
      handler,
      until,
    );
    return { recent: Number(row?.recent ?? 0), old: Number(row?.old ?? 0) };
  }

  /** Whether an event after this one says that notices about it are out of date. */
  isSettled({ kind, id }: TopicMap['notice.settled']['about'], after: number): boolean {
    return this.store.get(`SELECT 1 FROM (${SETTLED}) WHERE kind = ? AND what = ?`, after, kind, id) !== null;
  }

  /** Marks a row as successful. False: it was dropped. Rejects `lease_lost` where another process has the handler's job, as `change` does. */
  done(handler: string, event: number, attempt: Attempt): Promise<boolean> {
    return this.#guarded(attempt, (statement) => statement('DELETE FROM deliveries WHERE handler = ? AND event = ?', handler, event));
  }

  /** Counts an attempt, or postpones the next one. False: it was dropped. */
  change(handler: string, { event, attempts, due, error }: DeliveryChange, attempt: Attempt): Promise<boolean> {
    return this.#guarded(attempt, (statement) =>
      statement(
        'UPDATE deliveries SET attempts = ?, due = coalesce(?, due), error = coalesce(?, error) WHERE handler = ? AND event = ?',
        attempts,
        due ?? null,
        error?.replaceAll('\0', ' ').slice(0, 2000) ?? null,
        handler,
        event,
      ),
    );
  }

  /** Ends the handler's job where no delivery waits any more. False: some does. */
  async end(handler: string, attempt: Attempt): Promise<boolean> {
    let isOver = false;
    await this.store.write((statement) => {
      isOver = !this.#has('due >= 0', handler) && this.#jobs.within(statement).settle(attempt, DONE, false);
    });
    return isOver;
  }

  /**
   * Has the jobs of all handlers that have deliveries look for them: of former processes, and of jobs that somebody cancelled. Attempts that
   * are due after `latest` move to `now`, as the clock was set back; timers keep their time.
   */
  async repair(now: number, latest: number): Promise<void> {
    const handlers = this.store.all('SELECT DISTINCT handler FROM deliveries WHERE due >= 0');
    if (handlers.length === 0) return;
    await this.store.write((statement) => {
      statement('UPDATE deliveries SET due = ? WHERE due > ? AND error IS NOT NULL', now, latest);
      for (const { handler } of handlers) this.#jobs.within(statement).resumeOnly(deliveryJob(String(handler)));
    });
  }

  /**
   * Notes which handlers are no longer declared. Deletes the deliveries of those noted 7 days ago, and events of 30 days ago unless a
   * delivery of them still waits.
   */
  async tidy(declared: ReadonlySet<string>, now: number): Promise<void> {
    const [goneBefore, eventsBefore] = [now - KEEP_GONE_MS, now - KEEP_EVENTS_MS];
    const known = this.store.all('SELECT DISTINCT handler FROM deliveries').map(({ handler }) => String(handler));
    const gone = JSON.stringify(known.filter((handler) => !declared.has(handler)));
    await this.store.write((statement) => {
      const forgotten = this.store.all('SELECT handler FROM handlersgone WHERE since <= ?', goneBefore);
      for (const { handler } of forgotten)
        if (!declared.has(String(handler))) this.#jobs.within(statement).forgetOnly(deliveryJob(String(handler)));
      statement('DELETE FROM handlersgone WHERE handler NOT IN (SELECT value FROM json_each(?))', gone);
      statement('INSERT INTO handlersgone SELECT value, ? FROM json_each(?) WHERE true ON CONFLICT DO NOTHING', now, gone);
    });
    await this.#deleteOld('deliveries', 'handler, event', 'handler IN (SELECT handler FROM handlersgone WHERE since <= ?)', goneBefore);
    await this.#deleteOld('deliveries', 'handler, event', 'due < 0 AND event IN (SELECT id FROM events WHERE at <= ?)', eventsBefore);
    // Keeps the newest, so that no id is given twice.
    const isOver = 'at <= ? AND id < (SELECT max(id) FROM events) AND id NOT IN (SELECT event FROM deliveries)';
    await this.#deleteOld('events', 'id', isOver, eventsBefore);
  }

  /** Newest first. */
  deadLetters(limit: number): readonly Readonly<{ handler: string; event: number; topic: string; error: string }>[] {
    const rows = this.store.all(
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
  }

  /** Deliveries that wait for handlers that no manifest declares. */
  orphans(declared: ReadonlySet<string>): readonly { readonly handler: string; readonly count: number }[] {
    const rows = this.store.all('SELECT handler, count(*) AS count FROM deliveries WHERE due >= 0 GROUP BY handler');
    return rows
      .map(({ handler, count }) => ({ handler: String(handler), count: Number(count) }))
      .filter(({ handler }) => !declared.has(handler));
  }

  #rows(sql: string, handler: string, ...values: (string | number)[]): readonly DeliveryRow[] {
    return this.store.all(`SELECT ${FIELDS} FROM deliveries WHERE handler = ? ${sql}`, handler, ...values).map(deliveryOf);
  }

  #has(sql: string, ...values: (string | number)[]): boolean {
    return this.store.get(`SELECT 1 FROM deliveries WHERE handler = ? AND ${sql} LIMIT 1`, ...values) !== null;
  }

  async #guarded(attempt: Attempt, run: (statement: Statement) => { readonly changes: number }): Promise<boolean> {
    let changes = 0;
    await this.store.write((statement) => {
      this.#jobs.within(statement).guard(attempt);
      ({ changes } = run(statement));
    });
    return changes > 0;
  }

  async #deleteOld(table: string, key: string, where: string, before: number): Promise<void> {
    const sql = `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${where} LIMIT ${TIDY_AT_ONCE})`;
    const deleteSome = async (): Promise<number> => {
      let deleted = 0;
      await this.store.write((statement) => void (deleted = statement(sql, before).changes));
      return deleted;
    };
    while ((await deleteSome()) === TIDY_AT_ONCE);
  }
}

function deliveryOf({ event, key, attempts }: SqlRow): DeliveryRow {
  return { event: Number(event), key: typeof key === 'string' ? key : null, attempts: Number(attempts) };
}
