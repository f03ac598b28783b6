import type { Store } from '../store/store.ts';
import { LONGEST_MS } from './retry.ts';

const DAY_MS = 86_400_000;
const KEEP_EVENTS_MS = 30 * DAY_MS;
const KEEP_GONE_MS = 7 * DAY_MS;

/** Notes which handlers no manifest declares any more, forgets their deliveries after 7 days, and events after 30 days unless they still wait. */
export async function tidyJournal(store: Store, declared: ReadonlySet<string>, now: number): Promise<void> {
  const known = store.all('SELECT DISTINCT handler FROM deliveries').map(({ handler }) => String(handler));
  const gone = known.filter((handler) => !declared.has(handler));
  await store.write((statement) => {
    statement('DELETE FROM handlersgone WHERE handler NOT IN (SELECT value FROM json_each(?))', JSON.stringify(gone));
    statement('INSERT INTO handlersgone SELECT value, ? FROM json_each(?) WHERE true ON CONFLICT DO NOTHING', now, JSON.stringify(gone));
    statement('DELETE FROM deliveries WHERE handler IN (SELECT handler FROM handlersgone WHERE since <= ?)', now - KEEP_GONE_MS);
    statement('DELETE FROM deliveries WHERE due < 0 AND event IN (SELECT id FROM events WHERE at <= ?)', now - KEEP_EVENTS_MS);
    // The newest stays, so that no id is given twice.
    statement(
      `DELETE FROM events WHERE at <= ? AND id < (SELECT max(id) FROM events) AND id NOT IN (SELECT event FROM deliveries)`,
      now - KEEP_EVENTS_MS,
    );
  });
}

/** Deliveries that wait for a handler that no manifest declares. */
export function orphans(store: Store, declared: ReadonlySet<string>): readonly { readonly handler: string; readonly count: number }[] {
  return store
    .all('SELECT handler, count(*) AS count FROM deliveries WHERE due >= 0 GROUP BY handler')
    .map(({ handler, count }) => ({ handler: String(handler), count: Number(count) }))
    .filter(({ handler }) => !declared.has(handler));
}

/** After the clock was set back: attempts that would wait longer than any may are made now. Timers keep their time. */
export async function hastenRetries(store: Store, now: number): Promise<void> {
  const late = 'due > ? AND error IS NOT NULL';
  if (store.get(`SELECT 1 FROM deliveries WHERE ${late} LIMIT 1`, now + LONGEST_MS) === null) return;
  await store.write((statement) => void statement(`UPDATE deliveries SET due = ? WHERE ${late}`, now, now + LONGEST_MS));
}
