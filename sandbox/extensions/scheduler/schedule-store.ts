import { didYouMean } from '@pith/plain-text';
import { codeOf, type ExtensionContext, type JobInfo, type JsonValue, PithError } from 'pith';
import { oncePromised } from '@pith/promises';
import { nextOf, parseSchedule, type Schedule } from './schedule.ts';

const TABLE =
  'CREATE TABLE IF NOT EXISTS scheduler__schedules (id TEXT PRIMARY KEY, user TEXT NOT NULL, made INTEGER NOT NULL, row TEXT NOT NULL) WITHOUT ROWID';
const ALL = 'SELECT id, row FROM scheduler__schedules';
const ADDED =
  'INSERT INTO scheduler__schedules SELECT ?, ?, ?, ? WHERE (SELECT count(*) FROM scheduler__schedules WHERE user = ?) < ? ON CONFLICT (id) DO NOTHING';
const DELETE = 'DELETE FROM scheduler__schedules WHERE id = ?';
const ENDED = `UPDATE scheduler__schedules SET row = json_set(row, '$.last', json(?)) WHERE id = ?`;
const ADOPTED = 'UPDATE scheduler__schedules SET row = ? WHERE id = ? AND row = ?';

type Row = Awaited<ReturnType<ExtensionContext['database']['all']>>[number];

/** null for a row that something else has changed. */
function scheduleOf({ id, row }: Row): Schedule | null {
  try {
    const schedule = parseSchedule(String(row));
    return schedule.id === id ? schedule : null;
  } catch {
    return null; // not JSON, or not a schedule
  }
}

/** The most schedules of one person. */
const MOST = 50;

/** Schedules in their own table, each with the jobs that run it. */
export class ScheduleStore {
  readonly #table = oncePromised(() => this.database.write([{ sql: TABLE }]));
  /** Gives what version 1.0 had planned and begun its jobs. */
  readonly adopt = oncePromised(async () => {
    await this.#table();
    for (const row of await this.database.all(ALL)) {
      const schedule = scheduleOf(row);
      if (schedule !== null) await this.#adopt(schedule, String(row['row']));
    }
  });

  constructor(
    private readonly database: ExtensionContext['database'],
    private readonly jobs: ExtensionContext['jobs'],
    private readonly clock: ExtensionContext['clock'],
    private readonly changed: (schedule: Schedule) => void,
  ) {}

  /** Oldest first; null user: everybody's. */
  async list(user: string | null): Promise<readonly Schedule[]> {
    await this.adopt();
    const rows = await this.database.all(`${ALL} WHERE ? IS NULL OR user = ? ORDER BY made, id`, user, user);
    return rows.flatMap((row) => scheduleOf(row) ?? []);
  }

  /** Ids of rows, or times, that cannot be read: they never run, and the others continue. Changes nothing. */
  async damaged(): Promise<readonly string[]> {
    await this.#table();
    const isSound = (schedule: Schedule | null): boolean =>
      schedule !== null && (schedule.cron === null || nextOf(schedule, this.clock.now()) !== null);
    return (await this.database.all(ALL)).flatMap((row) => (isSound(scheduleOf(row)) ? [] : [String(row['id'])]));
  }

  async get(id: string): Promise<Schedule | null> {
    await this.adopt();
    const row = await this.database.get(`${ALL} WHERE id = ?`, id);
    const schedule = row && scheduleOf(row);
    if (row === null || schedule !== null) return schedule;
    throw new PithError('database_failed', `the row of schedule '${id}' is damaged`, { where: id, cure: 'schedule it again' });
  }

  /** The schedule, or the one with its id. Rejects `limit_reached`. */
  async add(schedule: Schedule): Promise<Schedule> {
    await this.adopt();
    const { id, by, createdAt, cron, at } = schedule;
    if (cron !== null) await this.#plan(schedule); // before its row, so that no row stays that never runs; without a row the first tick ends it
    const row = { sql: ADDED, values: [id, by.user, createdAt, JSON.stringify(schedule), by.user, MOST], changes: 1 };
    await this.database.write([row, ...(at === null ? [] : [this.#run(schedule, at, id)])]).catch(unlessConflict); // it is there, or too many are
    const kept = await this.get(id);
    if (cron !== null) await (kept === null ? this.jobs.schedule(id, null) : this.#plan(kept)); // again, as a tick may have come between
    if (kept !== null) {
      this.changed(kept);
      return kept;
    }
    throw new PithError('limit_reached', `${MOST} schedules are the most for one person`, {
      cure: 'cancel some with cancel_schedule; list_schedules shows them',
    });
  }

  /** Its runs that have begun go on. `user`: null for a person at the terminal, who may cancel everybody's. Rejects `not_found`. */
  async cancel(wanted: string, user: string | null): Promise<Schedule> {
    const found = await this.get(wanted);
    if (found === null || (user !== null && found.by.user !== user)) throw unknown(wanted, await this.list(user));
    await this.#remove(found);
    this.changed(found);
    return found;
  }

  async #remove({ id, cron, by }: Schedule): Promise<void> {
    await this.database.write([{ sql: DELETE, values: [id] }]);
    if (cron !== null) return this.jobs.schedule(id, null);
    const planned = await this.jobs.list({ name: 'run', state: 'scheduled', owner: by.user, limit: 1000 });
    const isIts = ({ payload }: JobInfo) => (payload as { readonly schedule?: JsonValue }).schedule === id;
    for (const job of planned.filter(isIts)) await this.jobs.cancel(job.id, 'its schedule was cancelled');
  }

  /** A run of it has ended; what was to run once is over. */
  async end(schedule: Schedule, last: NonNullable<Schedule['last']>): Promise<void> {
    const { id, cron } = schedule;
    await this.database.write([cron === null ? { sql: DELETE, values: [id] } : { sql: ENDED, values: [JSON.stringify(last), id] }]);
    this.changed(schedule);
  }

  async #plan({ id, cron, timeZone, correlationId }: Schedule): Promise<void> {
    const payload = { schedule: id, correlationId };
    await this.jobs.schedule(id, { cron: String(cron), ...(timeZone === null ? {} : { zone: timeZone }), name: 'run', payload });
  }

  #run({ id, correlationId, by }: Schedule, at: number, unique = `${id}/${at}`) {
    return this.jobs.statement('run', { schedule: id, correlationId, at }, { at, unique, owner: by.user });
  }

  /** Without a next time version 1.0, if it still runs, leaves it alone. */
  async #adopt(schedule: Schedule, row: string): Promise<void> {
    const { id, cron, nextAt, open } = schedule;
    if (nextAt === null && open.length === 0) return;
    try {
      if (cron !== null) await this.#plan(schedule);
    } catch (error) {
      if (codeOf(error, '') === 'parameter_invalid') return; // its times cannot be read here: it is told as damaged
      throw error;
    }
    const isPlanned = nextAt !== null && (cron === null || nextAt <= this.clock.now());
    const runs = [...open, ...(isPlanned ? [nextAt] : [])].map((at) => this.#run(schedule, at));
    const text = JSON.stringify({ ...schedule, at: cron === null ? (nextAt ?? schedule.at) : null, nextAt: null, open: [] });
    await this.database.write([{ sql: ADOPTED, values: [text, id, row], changes: 1 }, ...runs]).catch(unlessConflict); // another process was faster
  }
}

function unknown(id: string, known: readonly Schedule[]): PithError {
  const ids = known.map((each) => each.id);
  return new PithError('not_found', `there is no schedule '${id}'${didYouMean(id, ids)}`, {
    cure: ids.length === 0 ? 'there are none' : `use one of ${ids.join(', ')}`,
  });
}

function unlessConflict(error: unknown): void {
  if (codeOf(error, '') !== 'write_conflict') throw error;
}
