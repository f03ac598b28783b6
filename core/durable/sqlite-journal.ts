import { localZone } from '@pith/cron-times';
import type { PublishOptions } from '../contract/index.ts';
import type { JobCall, JobHandlers } from '../kernel/index.ts';
import type { Statement, Store } from '../store/index.ts';
import { createJobStore, DONE, kernelJob, PUBLISH_TICK } from './jobs/index.ts';
import { type NewEvent, preparesEvents, type PreparationOptions } from './new-event.ts';
import { Deliveries } from './sqlite-deliveries.ts';

export interface JournalOptions extends PreparationOptions {
  readonly store: Store;
  /** Called for each durable event. Must not throw. */
  written(event: WrittenEvent): void;
}

export interface WrittenEvent extends Pick<NewEvent, 'topic' | 'payload' | 'handlers'> {
  readonly id: string;
}

export type Journal = ReturnType<typeof createJournal>;

/** Table names without an underscore, so that no extension's prefix reaches them. */
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
  // A table of its own: Pith 0.1 inserts events by position, also while a newer one runs beside it.
  `CREATE TABLE eventtraces (event INTEGER PRIMARY KEY, traceparent TEXT NOT NULL);
   CREATE TRIGGER eventgone AFTER DELETE ON events BEGIN DELETE FROM eventtraces WHERE event = old.id; END;`,
];

const INSERT_EVENT = 'INSERT INTO events (topic, key, payload, correlation, at) VALUES (?, ?, ?, ?, ?)';

const OF_THREAD = `key = ? AND topic IN ('user.message', 'approval.requested', 'approval.answered') AND json_extract(payload, '$.threadId') = ?`;

/** The payload of the job of a tick. */
type Tick = Record<'extensionId' | 'name' | 'handler', string> & { readonly at: number };

/** How many ticks are published at once. */
const SIDE_BY_SIDE = 16;

/** The journal in `pith.db`. Ids of events are in the order of commits. */
export function createJournal({ store, clock, handlers, written }: JournalOptions) {
  store.migrate('journal', SCHEMA);
  const deliveries = new Deliveries(store, clock);
  const jobs = createJobStore(store, clock);
  const prepare = preparesEvents({ clock, handlers });
  const write = (statement: Statement, event: NewEvent): number => {
    const { topic, key, text, correlationId, at, traceparent } = event;
    // SQLite gives the id: one more than the highest.
    const { lastInsertRowid } = statement(INSERT_EVENT, topic, key, text, correlationId, at);
    const id = Number(lastInsertRowid);
    if (traceparent !== null) statement('INSERT INTO eventtraces (event, traceparent) VALUES (?, ?)', id, traceparent);
    deliveries.insert(statement, id, event);
    statement.onCommit(() => written({ id: String(id), ...event }));
    return id;
  };
  /**
   * Publishes a tick, and ends its job in the same commit; earlier ticks of the schedule that have not begun are dropped. Does nothing
   * where another process has the job, or an older Pith has published the tick.
   */
  async function publishTick({ id, fence, payload }: JobCall): Promise<typeof DONE> {
    const { at, handler, ...schedule } = payload as Tick;
    const name = nameOf(schedule);
    const event = prepare('schedule.due', { v: 1, ...schedule, at }, { key: `schedule ${name}` });
    await store.write((statement) => {
      const isOurs = jobs.within(statement).settle({ id, fence }, DONE, false);
      const former = store.get('SELECT next FROM schedules WHERE name = ?', name)?.next;
      if (!isOurs || Number(former ?? -Infinity) >= at) return;
      statement('DELETE FROM schedules WHERE name = ?', name);
      const earlier = 'handler = ? AND key = ? AND event < ? AND attempts = 0 AND due <= ?';
      const values = [`${schedule.extensionId}/${handler}`, event.key, write(statement, event), clock.now()];
      statement(`DELETE FROM deliveries WHERE ${earlier}`, ...values);
    });
    return DONE;
  }

  return {
    deliveries,
    /** Resolves the event's id when it is durable; the events of one tick share a commit. Rejects `parameter_invalid` or `not_serialisable`. */
    async publish(topic: string, payload: object, options?: PublishOptions): Promise<string> {
      const event = prepare(topic, payload, options);
      let id = 0;
      await store.write((statement) => void (id = write(statement, event)));
      return String(id);
    },
    /** Writes an event in the transaction of `statement`, for modules with rows in the same file. Returns its id; throws as `publish`. */
    append: (statement: Statement, topic: string, payload: object, options?: PublishOptions): number =>
      write(statement, prepare(topic, payload, options)),
    /** Deletes what a thread has published under a key, also what waits; events of others that have the key stay. */
    forgetThread(statement: Statement, key: string, threadId: string): void {
      statement(`DELETE FROM deliveries WHERE event IN (SELECT id FROM events WHERE ${OF_THREAD})`, key, threadId);
      statement(`DELETE FROM events WHERE ${OF_THREAD}`, key, threadId);
    },
    /** Deletes the events of a key, also those that wait. */
    forget: (key: string): Promise<void> =>
      store.write((statement) => {
        statement('DELETE FROM deliveries WHERE event IN (SELECT id FROM events WHERE key = ?)', key);
        statement('DELETE FROM events WHERE key = ?', key);
      }),
    /** Publishes `schedule.due` at each tick of a schedule that names a handler. */
    tickJob: kernelJob(PUBLISH_TICK, SIDE_BY_SIDE, publishTick),
    /** Forgets what an older Pith has planned for other schedules than these. */
    async endFormer(schedules: ReturnType<JobHandlers['schedules']>): Promise<void> {
      const zone = localZone();
      const specs = new Map(schedules.map((schedule) => [nameOf(schedule), JSON.stringify([schedule.cron, schedule.handler, zone])]));
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

function nameOf({ extensionId, name }: Pick<Tick, 'extensionId' | 'name'>): string {
  return `${extensionId}/${name}`;
}
