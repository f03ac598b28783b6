import { type ExtensionContext, PithError } from 'pith';
import { oncePromised } from '@pith/promises';
import { parseSchedule, type Schedule } from './schedule.ts';

const TABLE =
  'CREATE TABLE IF NOT EXISTS scheduler__schedules (id TEXT PRIMARY KEY, user TEXT NOT NULL, made INTEGER NOT NULL, row TEXT NOT NULL) WITHOUT ROWID';

/** Other writers cannot win so often: something else is wrong then. */
const MOST_ATTEMPTS = 100;

function read(id: string, text: string): Schedule {
  const schedule = readable(text);
  if (schedule !== null) return schedule;
  throw new PithError('database_failed', `the row of schedule '${id}' is damaged`, { where: id, cure: 'schedule it again' });
}

/** null for a row that something else has changed. */
function readable(text: string): Schedule | null {
  try {
    return parseSchedule(text);
  } catch {
    return null; // not JSON, or not a schedule
  }
}

/** Schedules in their own table. Several processes may change one, so a change is written only over the version that was read. */
export class ScheduleStore {
  readonly #open = oncePromised(() => this.database.write([{ sql: TABLE }]));

  constructor(private readonly database: ExtensionContext['database']) {}

  /** Oldest first; null user: everybody's. */
  async list(user: string | null): Promise<readonly Schedule[]> {
    await this.#open();
    const rows = await this.database.all(
      'SELECT id, row FROM scheduler__schedules WHERE ? IS NULL OR user = ? ORDER BY made, id',
      user,
      user,
    );
    return rows.flatMap(({ id, row }) => {
      const schedule = readable(String(row));
      return schedule !== null && schedule.id === id ? [schedule] : [];
    });
  }

  /** Ids of unreadable rows: they never run, and the others continue. */
  async damaged(): Promise<readonly string[]> {
    await this.#open();
    const rows = await this.database.all('SELECT id, row FROM scheduler__schedules');
    return rows.flatMap(({ id, row }) => (readable(String(row))?.id === id ? [] : [String(id)]));
  }

  async get(id: string): Promise<Schedule | null> {
    const text = await this.#text(id);
    return text === null ? null : read(id, text);
  }

  /** False when this person has `most` already. */
  async add(schedule: Schedule, most: number): Promise<boolean> {
    await this.#open();
    const { id, by, createdAt } = schedule;
    const [added] = await this.database.write([
      {
        sql: 'INSERT INTO scheduler__schedules SELECT ?, ?, ?, ? WHERE (SELECT count(*) FROM scheduler__schedules WHERE user = ? AND id <> ?) < ? ON CONFLICT (id) DO NOTHING',
        values: [id, by.user, createdAt, JSON.stringify(schedule), by.user, id, most],
      },
    ]);
    return added === 1 || (await this.#text(schedule.id)) !== null;
  }

  /** Replaces the schedule with the result of `change`; null removes it. Resolves null when it does not exist, or no longer. */
  async change(id: string, change: (schedule: Schedule) => Schedule | null): Promise<Schedule | null> {
    for (let attempt = 1; ; attempt++) {
      const before = await this.#text(id);
      if (before === null) return null;
      const next = change(read(id, before));
      const [changed] = await this.database.write([
        next === null
          ? { sql: 'DELETE FROM scheduler__schedules WHERE id = ? AND row = ?', values: [id, before] }
          : { sql: 'UPDATE scheduler__schedules SET row = ? WHERE id = ? AND row = ?', values: [JSON.stringify(next), id, before] },
      ]);
      if (changed === 1) return next;
      if (attempt === MOST_ATTEMPTS)
        throw new PithError(
          'write_conflict',
          `schedule '${id}' was not changed: other processes changed it ${MOST_ATTEMPTS} times meanwhile`,
          { retryable: true, cure: 'try again' },
        );
    }
  }

  async #text(id: string): Promise<string | null> {
    await this.#open();
    const row = await this.database.get('SELECT row FROM scheduler__schedules WHERE id = ?', id);
    return row === null ? null : String(row.row);
  }
}
