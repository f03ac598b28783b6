import type { PublishOptions } from '../contract/index.ts';
import type { Statement, Store } from '../store/index.ts';
import { type Attempt, createJobStore, DONE } from './jobs/index.ts';
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
];

/** The journal in `pith.db`. Ids of events are in the order of commits. */
export function createJournal({ store, clock, handlers, written }: JournalOptions) {
  store.migrate('journal', SCHEMA);
  const deliveries = new Deliveries(store, clock);
  const jobs = createJobStore(store, clock);
  const prepare = preparesEvents({ clock, handlers });
  const write = (statement: Statement, event: NewEvent): number => {
    const { topic, key, text, correlationId, at } = event;
    // SQLite gives the id: one more than the highest.
    const { lastInsertRowid } = statement('INSERT INTO events VALUES (NULL, ?, ?, ?, ?, ?)', topic, key, text, correlationId, at);
    const id = Number(lastInsertRowid);
    deliveries.insert(statement, id, event);
    statement.onCommit(() => written({ id: String(id), ...event }));
    return id;
  };
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
    /**
     * Publishes a tick, and ends its job in the same commit; earlier ticks of the schedule that have not begun are dropped. Does nothing
     * where another process has the job, or an older Pith has published the tick.
     */
    async publishTick({ job, name, handler, at }: ScheduleTick, payload: object): Promise<void> {
      const event = prepare('schedule.due', payload, { key: `schedule ${name}` });
      await store.write((statement) => {
        const isOurs = jobs.within(statement).settle(job, DONE, false);
        const former = store.get('SELECT next FROM schedules WHERE name = ?', name)?.next;
        if (!isOurs || Number(former ?? -Infinity) >= at) return;
        statement('DELETE FROM schedules WHERE name = ?', name);
        const earlier = 'handler = ? AND key = ? AND event < ? AND attempts = 0 AND due <= ?';
        statement(`DELETE FROM deliveries WHERE ${earlier}`, handler, event.key, write(statement, event), clock.now());
      });
    },
    /** Forgets what an older Pith has planned for other schedules than these. */
    async endFormer(specs: ReadonlyMap<string, string>): Promise<void> {
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

/** The tick of a schedule `extension/name`, whose handler is `extension/method`. */
export interface ScheduleTick extends Readonly<Record<'name' | 'handler', string>> {
  readonly job: Attempt;
  readonly at: number;
}
