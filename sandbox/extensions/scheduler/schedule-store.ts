import { codeOf, type ExtensionContext, type JobInfo, type JsonValue, PithError } from 'pith';
import { oncePromised } from '@pith/promises';
import { parseSchedule, type Schedule } from './schedule.ts';
import { nextOf } from './schedule-view.ts';

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

/** Schedules in their own table, each with the jobs that run it. Several processes may change one, so a change is written only over the version that was read. */
export class ScheduleStore {
  readonly #table = oncePromised(() => this.database.write([{ sql: TABLE }]));
  readonly #open = oncePromised(async () => {
    await this.#table();
    for (const { id, row } of await this.database.all('SELECT id, row FROM scheduler__schedules')) {
      const schedule = readable(String(row));
      if (schedule !== null && schedule.id === id && schedule.nextAt !== null) await this.#adopt(schedule, schedule.nextAt);
    }
  });

  constructor(
    private readonly database: ExtensionContext['database'],
    private readonly jobs: ExtensionContext['jobs'],
    private readonly clock: ExtensionContext['clock'],
  ) {}

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

  /** Ids of rows, or times, that cannot be read: they never run, and the others continue. Changes nothing. */
  async damaged(): Promise<readonly string[]> {
    await this.#table();
    const rows = await this.database.all('SELECT id, row FROM scheduler__schedules');
    const isSound = (id: unknown, schedule: Schedule | null): boolean =>
      schedule !== null && schedule.id === id && (schedule.cron === null || nextOf(schedule, this.clock.now()) !== null);
    return rows.flatMap(({ id, row }) => (isSound(id, readable(String(row))) ? [] : [String(id)]));
  }

  async get(id: string): Promise<Schedule | null> {
    await this.#open();
    const text = await this.#text(id);
    return text === null ? null : read(id, text);
  }

  /** The schedule, or the one with its id; null when this person has `most` already. A repeated call completes what a crash cut off. */
  async add(schedule: Schedule, most: number): Promise<Schedule | null> {
    await this.#open();
    const { id, by, createdAt } = schedule;
    await this.database.write([
      {
        sql: 'INSERT INTO scheduler__schedules SELECT ?, ?, ?, ? WHERE (SELECT count(*) FROM scheduler__schedules WHERE user = ? AND id <> ?) < ? ON CONFLICT (id) DO NOTHING',
        values: [id, by.user, createdAt, JSON.stringify(schedule), by.user, id, most],
      },
    ]);
    const kept = await this.get(id);
    if (kept !== null) await this.#arm(kept);
    return kept;
  }

  /** Its runs that have begun go on. */
  async remove({ id, cron, by }: Schedule): Promise<void> {
    await this.change(id, () => null);
    if (cron !== null) return this.jobs.schedule(id, null);
    const planned = await this.jobs.list({ name: 'run', state: 'scheduled', owner: by.user, limit: 1000 });
    const isIts = ({ payload }: JobInfo) => (payload as { readonly schedule?: JsonValue }).schedule === id;
    for (const job of planned.filter(isIts)) await this.jobs.cancel(job.id, 'its schedule was cancelled');
  }

  /** Replaces the schedule with the result of `change`; null removes it. Resolves null when it does not exist, or no longer. */
  async change(id: string, change: (schedule: Schedule) => Schedule | null): Promise<Schedule | null> {
    await this.#open();
    return this.#replace(id, change);
  }

  async #replace(id: string, change: (schedule: Schedule) => Schedule | null): Promise<Schedule | null> {
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

  async #arm({ id, cron, timeZone, at, by, correlationId }: Schedule): Promise<void> {
    const payload = { schedule: id, correlationId };
    if (cron !== null) await this.jobs.schedule(id, { cron, ...(timeZone === null ? {} : { zone: timeZone }), name: 'run', payload });
    else if (at !== null) await this.jobs.add('run', { ...payload, at }, { at, unique: id, owner: by.user });
  }

  /** A row of version 1.0. Without a next time that version, if it still runs, leaves it alone. */
  async #adopt(schedule: Schedule, at: number): Promise<void> {
    const { id, cron, correlationId, by } = schedule;
    try {
      await this.#arm({ ...schedule, at });
    } catch (error) {
      if (codeOf(error, '') === 'parameter_invalid') return; // its times cannot be read here: it is told as damaged
      throw error;
    }
    if (cron !== null && at <= this.clock.now())
      await this.jobs.add('run', { schedule: id, correlationId, at }, { unique: `${id}/${at}`, owner: by.user });
    await this.#replace(id, (each) => ({ ...each, at: cron === null ? at : null, nextAt: null }));
  }

  async #text(id: string): Promise<string | null> {
    const row = await this.database.get('SELECT row FROM scheduler__schedules WHERE id = ?', id);
    return row === null ? null : String(row.row);
  }
}
