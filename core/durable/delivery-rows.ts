import type { JsonValue, SqlRow } from '../contract/index.ts';
import { isHeldInWrite, type Lease } from '../store/leases.ts';
import type { Store } from '../store/store.ts';

/** One delivery as a worker keeps it; its event is read when it runs. */
export interface DeliveryRow {
  readonly event: number;
  readonly key: string | null;
  readonly attempts: number;
}

export interface StoredEvent {
  readonly topic: string;
  readonly payload: JsonValue;
  readonly correlationId: string;
}

export interface DeadLetter {
  readonly handler: string;
  readonly event: number;
  readonly topic: string;
  readonly error: string;
}

const COLUMNS = 'SELECT event, key, attempts FROM deliveries WHERE handler = ?';

/** The deliveries of one handler on disk. */
export function deliveryRows(store: Store, handler: string) {
  const rows = (sql: string, ...values: (string | number)[]) => store.all(`${COLUMNS} ${sql}`, handler, ...values).map(rowOf);
  return {
    after: (event: number, limit: number) => rows('AND event > ? AND due = 0 ORDER BY event LIMIT ?', event, limit),
    dueBy: (now: number, limit: number) => rows('AND due > 0 AND due <= ? ORDER BY due, event LIMIT ?', now, limit),
    ofKey: (key: string, limit: number) => rows('AND key = ? AND due = 0 ORDER BY event LIMIT ?', key, limit),
    /** Keys whose first delivery waits for another attempt. */
    held: () => rows('AND due > 0 AND attempts > 0 AND key IS NOT NULL ORDER BY event'),
    hasDue: (now: number) =>
      store.get('SELECT 1 FROM deliveries WHERE handler = ? AND due > 0 AND due <= ? LIMIT 1', handler, now) !== null ||
      store.get('SELECT 1 FROM deliveries WHERE handler = ? AND due = 0 LIMIT 1', handler) !== null,
    /** When the next one falls due, and whether some are due by now. */
    nextDue: (now: number) => {
      const next = store.get('SELECT min(due) AS next FROM deliveries WHERE handler = ? AND due > ?', handler, Math.max(0, now))?.next;
      const due = store.get('SELECT 1 FROM deliveries WHERE handler = ? AND due > 0 AND due <= ? LIMIT 1', handler, now);
      return { next: typeof next === 'number' ? next : null, isOverdue: due !== null };
    },
    /** null: its event has been pruned. */
    event(id: number): StoredEvent | null {
      const row = store.get('SELECT topic, payload, correlation FROM events WHERE id = ?', id);
      if (row === null) return null;
      const { topic, payload, correlation } = row;
      const parsed = JSON.parse(String(payload)) as JsonValue;
      return {
        topic: String(topic),
        payload: parsed,
        correlationId: typeof correlation === 'string' ? correlation : `event-${id}`,
      };
    },
    done: (event: number) =>
      store.write((statement) => {
        statement('DELETE FROM deliveries WHERE handler = ? AND event = ?', handler, event);
      }),
    /** Counts an attempt before it is made, or takes it back. */
    count: (event: number, attempts: number) =>
      store.write((statement) => {
        statement('UPDATE deliveries SET attempts = ? WHERE handler = ? AND event = ?', attempts, handler, event);
      }),
    /** `due`: when it is tried again; -1 for never. Whoever has lost the lease changes nothing. */
    postpone: ({ event, attempts }: DeliveryRow, due: number, error: string, lease: Lease) =>
      store.write((statement) => {
        if (!isHeldInWrite(store, lease.fence)) return;
        statement(
          'UPDATE deliveries SET due = ?, attempts = ?, error = ? WHERE handler = ? AND event = ?',
          due,
          attempts,
          error.replaceAll('\0', ' ').slice(0, 2000),
          handler,
          event,
        );
      }),
  };
}

export type DeliveryRows = ReturnType<typeof deliveryRows>;

/** The newest first. */
export function deadLetters(store: Store, limit: number): readonly DeadLetter[] {
  return store
    .all(
      `SELECT handler, event, coalesce(topic, '') AS topic, coalesce(error, '') AS error FROM deliveries LEFT JOIN events ON id = event
         WHERE due < 0 ORDER BY event DESC LIMIT ?`,
      limit,
    )
    .map(({ handler, event, topic, error }) => ({
      handler: String(handler),
      event: Number(event),
      topic: String(topic),
      error: String(error),
    }));
}

function rowOf({ event, key, attempts }: SqlRow): DeliveryRow {
  return { event: Number(event), key: typeof key === 'string' ? key : null, attempts: Number(attempts) };
}
