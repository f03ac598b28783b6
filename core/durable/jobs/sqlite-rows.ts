import type { SqlRow, SqlValue, Store } from '../../store/index.ts';
import type { Hold, JobFilter, ScheduleRow } from './port.ts';
import { type JobRow, PLAIN_JOB, type State } from './row.ts';
import { created } from './transitions.ts';

/** What a query for jobs that may start leaves out. */
export interface Except {
  readonly lanes: readonly string[];
  readonly owners: readonly string[];
  /** Rows of a newer version are another process's. */
  readonly newerThan: number;
  /** Ticks that catch up. */
  readonly late: boolean;
}

/** More owners of a lane are not remembered: the others count as never served. */
const MOST_SERVED = 1_000;

/** The most urgent first, then the oldest. */
export function byUrgency(one: Pick<JobRow, 'priority' | 'number'>, other: Pick<JobRow, 'priority' | 'number'>): number {
  return other.priority - one.priority || one.number - other.number;
}

type Run = (sql: string, ...parameters: SqlValue[]) => unknown;

/** A plain `LIMIT ?` makes SQLite prepare the statement again at each call, for the sake of its plan. */
const LIMIT = 'LIMIT 0 + ?';
const READY = 'ready = 1 AND inside = 0';
/** As the partial indexes say it. */
const OPEN = `state NOT IN ('done', 'cancelled', 'dead')`;
const IN_SEQUENCE = `sequence IS NOT NULL AND state IN ('waiting', 'failed', 'running', 'suspended')`;
const BUSY = `sequence IS NOT NULL AND state IN ('running', 'suspended')`;
const ENDING = `until IS NOT NULL AND state <> 'running'`;
const LATER = `state IN ('scheduled', 'failed', 'suspended')`;
const STOPPING = `state = 'running' AND stop IS NOT NULL`;
const STOPPED_AT = `json_extract(stop, '$.at')`;
const ALLOWED = `version <= ? AND (late = 0 OR ? = 0) AND (lane IS NULL OR lane NOT IN (SELECT value FROM json_each(?)))
  AND (owner IS NULL OR owner NOT IN (SELECT value FROM json_each(?)))`;

/**
 * The tables within a transaction. Queries for jobs that may start see rows with `ready`, without those `inside` another, the most urgent
 * first and then the oldest.
 */
export class JobRows {
  /** `run`: the statement of a write; a read has none. */
  constructor(
    private readonly store: Pick<Store, 'all' | 'get'>,
    private readonly run: Run,
  ) {}

  get(id: string): JobRow | null {
    return this.#first('id = ?', id);
  }

  /** Writes a new row, or over the one with its id. */
  put(row: JobRow): void {
    this.run(PUT, ...COLUMNS.map((column) => toSql(column, row)));
  }

  delete(id: string): void {
    for (const sql of DELETIONS) this.run(sql, id);
  }

  /** A number greater than all before, for what is committed now. */
  nextNumber(): number {
    this.run('UPDATE job_counter SET number = number + 1');
    return this.#counter();
  }

  openUnique(name: string, unique: string): JobRow | null {
    return this.#first(`name = ? AND "unique" = ? AND "unique" IS NOT NULL AND ${OPEN}`, name, unique);
  }

  /** Whether that row waits to be started, or was resumed early: asked by each durable event; reading the row would double its cost. */
  isExpected(name: string, unique: string): boolean {
    const open = `name = ? AND "unique" = ? AND "unique" IS NOT NULL AND ${OPEN}`;
    return this.store.get(`SELECT 1 FROM jobs WHERE ${open} AND (state = 'waiting' OR early IS NOT NULL)`, name, unique) !== null;
  }

  /** Of a sequence: the oldest row that is waiting, failed, running or suspended, and whether any is running or suspended. */
  sequence(name: string, sequence: string): { readonly first: JobRow | null; readonly isBusy: boolean } {
    return {
      first: this.#first(`name = ? AND sequence = ? AND ${IN_SEQUENCE} ORDER BY number`, name, sequence),
      isBusy: this.store.get(`SELECT 1 FROM jobs WHERE name = ? AND sequence = ? AND ${BUSY}`, name, sequence) !== null,
    };
  }

  /** The row of a sequence that is `ready`. */
  readyOfSequence(name: string, sequence: string): JobRow | null {
    return this.#first('name = ? AND sequence = ? AND ready = 1 AND sequence IS NOT NULL', name, sequence);
  }

  /** Open rows of a parent, or only those `inside` it, that were not asked to end. */
  openChildren(parent: string, inside: boolean, limit: number): readonly JobRow[] {
    const where = `parent = ? AND parent IS NOT NULL AND ${OPEN} AND stop IS NULL AND inside >= ? ORDER BY number ${LIMIT}`;
    return this.#all(where, parent, Number(inside), limit);
  }

  /**
   * What has run out: leases of other holders, graces of those that were asked to end, and waits until a time; and rows that have ended
   * before all that ends with them. At most `limit` of each. A row may be in it twice.
   */
  overdue(now: number, holder: string, graceMs: number, limit: number): readonly JobRow[] {
    return [
      ...this.#all(`state = 'running' AND until <= ? AND holder <> ? ORDER BY until, number ${LIMIT}`, now, holder, limit),
      ...this.#all(`${STOPPING} AND ${STOPPED_AT} <= ? ORDER BY ${STOPPED_AT}, number ${LIMIT}`, now - graceMs, limit),
      ...this.#all(`${LATER} AND at <= ? ORDER BY at, number ${LIMIT}`, now, limit),
      ...this.#all(`${ENDING} AND until <= ? ORDER BY until, number ${LIMIT}`, now, limit),
    ];
  }

  /** The earliest moment at which `overdue` has a row; null: none. */
  next(holder: string, graceMs: number): number | null {
    const row = this.store.get(
      `SELECT (SELECT until FROM jobs WHERE state = 'running' AND holder <> ? ORDER BY until LIMIT 1) AS lease,
         (SELECT ${STOPPED_AT} FROM jobs WHERE ${STOPPING} ORDER BY ${STOPPED_AT} LIMIT 1) + ? AS stop,
         (SELECT at FROM jobs WHERE ${LATER} ORDER BY at LIMIT 1) AS due,
         (SELECT until FROM jobs WHERE ${ENDING} ORDER BY until LIMIT 1) AS ending`,
      holder,
      graceMs,
    );
    const times = Object.values(row ?? {}).filter((time) => time !== null);
    return times.length === 0 ? null : Math.min(...times.map(Number));
  }

  /** Names that have ready rows, those `inside` another too. */
  readyNames(): readonly string[] {
    return this.#distinct('name', 'ready = 1');
  }

  /** Without those in a slot of their parent. */
  running(
    name: string,
  ): readonly Pick<JobRow, 'id' | 'lane' | 'owner' | 'priority' | 'preemptible' | 'begun' | 'stop' | 'lost' | 'late' | 'number'>[] {
    const sql = `SELECT ${RUNNING_COLUMNS.map(quoted).join(', ')} FROM jobs INDEXED BY jobs_running WHERE name = ? AND inside = 0 AND state = 'running' ORDER BY number`;
    return this.store.all(sql, name).map((row) => fromSql(row, RUNNING_COLUMNS) as JobRow);
  }

  /** How many ticks that catch up run, of all names. */
  lateRunning(): number {
    return this.#count(`state = 'running' AND late = 1`);
  }

  /** `lanes`: also those in lanes. */
  ready(name: string, lanes: boolean, except: Except, limit: number): readonly JobRow[] {
    const index = lanes ? 'jobs_ready' : 'jobs_ready_without_lane';
    const where = `INDEXED BY ${index} WHERE name = ? AND ${READY} AND ${lanes ? '' : 'lane IS NULL AND '}${ALLOWED} ORDER BY priority DESC, number ${LIMIT}`;
    return this.#all(where, name, ...allowed(except), limit);
  }

  /** The first ready row of a name that was lost so often that it runs alone. */
  readyAlone(name: string, fromLosses: number, except: Except): JobRow | null {
    const where = `INDEXED BY jobs_ready_alone WHERE name = ? AND ${READY} AND lost > 0 AND lost >= ? AND ${ALLOWED} ORDER BY priority DESC, number`;
    return this.#first(where, name, fromLosses, ...allowed(except));
  }

  /** Ready rows inside one that is running or suspended. */
  readyInside(name: string, except: Except, limit: number): readonly JobRow[] {
    return this.#all(
      `name = ? AND ready = 1 AND inside = 1 AND ${ALLOWED}
         AND EXISTS (SELECT 1 FROM jobs AS whole WHERE whole.id = jobs.parent AND whole.state IN ('running', 'suspended'))
       ORDER BY priority DESC, number ${LIMIT}`,
      name,
      ...allowed(except),
      limit,
    );
  }

  /** Lanes of a name that have ready rows. */
  readyLanes(name: string): readonly string[] {
    return this.#distinct('lane', `name = ? AND ${READY} AND lane IS NOT NULL`, name);
  }

  heads({ name, lane }: { readonly name: string; readonly lane: string }, perOwner: number, except: Except): readonly JobRow[] {
    const inLane = `name = ? AND lane = ? AND ${READY} AND lane IS NOT NULL`;
    const ofOwner = `${inLane} AND owner IS ? AND ${ALLOWED} ORDER BY priority DESC, number ${LIMIT}`;
    return [null, ...this.#distinct('owner', inLane, name, lane)]
      .flatMap((owner) => this.#all(ofOwner, name, lane, owner, ...allowed(except), perOwner))
      .sort(byUrgency);
  }

  /** Open rows of a lane with a promise. */
  promised(name: string, lane: string): readonly JobRow[] {
    return this.#all('name = ? AND lane = ? AND promise IS NOT NULL ORDER BY number', name, lane);
  }

  /** The turn at which each of the last `MOST_SERVED` owners of a lane was served. */
  served(name: string, lane: string): ReadonlyMap<string | null, number> {
    const rows = this.store.all('SELECT owner, turn FROM job_served WHERE name = ? AND lane = ?', name, lane);
    return new Map(rows.map(({ owner, turn }) => [owner as string | null, Number(turn)]));
  }

  serve(name: string, lane: string, owner: string | null): void {
    const last = this.store.get('SELECT max(turn) AS turn FROM job_served WHERE name = ? AND lane = ?', name, lane);
    const turn = Number(last?.['turn'] ?? 0) + 1;
    this.run('DELETE FROM job_served WHERE name = ? AND lane = ? AND (owner IS ? OR turn <= ?)', name, lane, owner, turn - MOST_SERVED);
    this.run('INSERT INTO job_served (name, lane, owner, turn) VALUES (?, ?, ?, ?)', name, lane, owner, turn);
  }

  /** Replaces what a row waits for. */
  setWaits(waiter: string, targets: readonly string[]): void {
    this.run('DELETE FROM job_waits WHERE waiter = ?', waiter);
    for (const target of new Set(targets)) this.run('INSERT INTO job_waits (waiter, target) VALUES (?, ?)', waiter, target);
  }

  /** Removes the waits for a target, and gives those who wait for nothing any more. */
  endWaits(target: string): readonly string[] {
    const waiters = this.store.all('SELECT waiter FROM job_waits WHERE target = ? ORDER BY waiter', target);
    if (waiters.length > 0) this.run('DELETE FROM job_waits WHERE target = ?', target);
    return waiters
      .map(({ waiter }) => String(waiter))
      .filter((waiter) => this.store.get('SELECT 1 FROM job_waits WHERE waiter = ? LIMIT 1', waiter) === null);
  }

  addNote(id: string, at: number, data: string, most: number): void {
    this.run('INSERT INTO job_notes (job, at, data) VALUES (?, ?, ?)', id, at, data);
    this.run(
      'DELETE FROM job_notes WHERE job = ? AND number <= (SELECT number FROM job_notes WHERE job = ? ORDER BY number DESC LIMIT 1 OFFSET ?)',
      id,
      id,
      most,
    );
  }

  notes(id: string): readonly { readonly at: number; readonly data: string }[] {
    const rows = this.store.all('SELECT at, data FROM job_notes WHERE job = ? ORDER BY number', id);
    return rows.map(({ at, data }) => ({ at: Number(at), data: String(data) }));
  }

  list(filter: JobFilter): readonly JobRow[] {
    const { where, values } = conditionsOf(filter);
    return this.#all(`${where} ORDER BY number DESC ${LIMIT}`, ...values, filter.limit);
  }

  count(filter: Omit<JobFilter, 'limit'>): number {
    const { where, values } = conditionsOf(filter);
    return this.#count(where, ...values);
  }

  changesSince(number: number, limit: number): { readonly number: number; readonly ids: readonly string[] } {
    const last = this.#counter(); // read first: what is committed meanwhile is told again, not lost
    const changed = 'SELECT id, changed FROM jobs WHERE changed > ? AND changed <= ? ORDER BY changed, number';
    const rows = this.store.all(`${changed} ${LIMIT}`, number, last, limit);
    const idsOf = (found: readonly SqlRow[]): readonly string[] => found.map(({ id }) => String(id));
    if (rows.length < limit) return { number: last, ids: idsOf(rows) };
    const until = Number(rows.at(-1)?.['changed']); // whole commits only
    return { number: until, ids: idsOf(this.store.all(changed, number, until)) };
  }

  holds(): readonly Hold[] {
    return this.store.all('SELECT kind, value, until, reason FROM job_holds ORDER BY kind, value') as unknown as readonly Hold[];
  }

  putHold({ kind, value, until, reason }: Hold): void {
    this.run('REPLACE INTO job_holds (kind, value, until, reason) VALUES (?, ?, ?, ?)', kind, value, until, reason);
  }

  removeHold(kind: Hold['kind'], value: string): void {
    this.run('DELETE FROM job_holds WHERE kind = ? AND value = ?', kind, value);
  }

  schedules(): readonly ScheduleRow[] {
    const rows = this.store.all('SELECT * FROM job_schedules ORDER BY id');
    return rows.map((row) => ({ ...row, job: JSON.parse(String(row['job'])) }) as unknown as ScheduleRow);
  }

  putSchedule({ id, cron, zone, job, missed, within, next }: ScheduleRow): void {
    const sql = 'REPLACE INTO job_schedules (id, cron, zone, job, missed, within, next) VALUES (?, ?, ?, ?, ?, ?, ?)';
    this.run(sql, id, cron, zone, JSON.stringify(job), missed, within, next);
  }

  removeSchedule(id: string): void {
    this.run('DELETE FROM job_schedules WHERE id = ?', id);
  }

  /** Of a state, ended before; `seen` null: both. Oldest first. */
  endedBefore(before: number, state: State, seen: boolean | null, limit: number): readonly string[] {
    const sql = `SELECT id FROM jobs WHERE state = ? AND ended < ? AND ended IS NOT NULL AND (? IS NULL OR seen = ?) ORDER BY ended, number ${LIMIT}`;
    const wanted = seen === null ? null : Number(seen);
    return this.store.all(sql, state, before, wanted, wanted, limit).map(({ id }) => String(id));
  }

  /** Leases later than `lease` end then; retries later than `retry` are due at once; who was asked to end later than now was asked now. */
  shorten(now: number, { lease, retry }: { readonly lease: number; readonly retry: number }): void {
    this.run(`UPDATE jobs SET until = ? WHERE state = 'running' AND until > ?`, lease, lease);
    this.run(`UPDATE jobs SET at = ? WHERE ${LATER} AND state = 'failed' AND at > ?`, now, retry);
    this.run(`UPDATE jobs SET stop = json_set(stop, '$.at', ?) WHERE ${STOPPING} AND ${STOPPED_AT} > ?`, now, now);
  }

  #all(where: string, ...values: SqlValue[]): readonly JobRow[] {
    return this.store
      .all(`SELECT * FROM jobs ${where.startsWith('INDEXED') ? where : `WHERE ${where}`}`, ...values)
      .map((row) => fromSql(row, COLUMNS) as JobRow);
  }

  #first(where: string, ...values: SqlValue[]): JobRow | null {
    return this.#all(`${where} LIMIT 1`, ...values)[0] ?? null;
  }

  #count(where: string, ...values: SqlValue[]): number {
    return Number(this.store.get(`SELECT count(*) AS n FROM jobs WHERE ${where}`, ...values)?.['n']);
  }

  #counter(): number {
    return Number(this.store.get('SELECT number FROM job_counter')?.['number']);
  }

  /** The texts in a column, one search each: an index is not walked for them. */
  #distinct(column: 'name' | 'lane' | 'owner', where: string, ...values: SqlValue[]): readonly string[] {
    const found: string[] = [];
    const from = (comparison: string): string =>
      `SELECT ${column} FROM jobs WHERE ${where} AND ${column} ${comparison} ? ORDER BY ${column} LIMIT 1`;
    for (let row = this.store.get(from('>='), ...values, ''); row !== null; row = this.store.get(from('>'), ...values, found.at(-1) ?? ''))
      found.push(String(row[column]));
    return found;
  }
}

type Column = keyof JobRow;

/** Of the fields of a row. */
const { onOpen: _, ...FIELDS } = PLAIN_JOB;
const COLUMNS = Object.keys(created({ ...FIELDS, id: '', name: '', payload: '', mostAttempts: 1 }, 0, 0)) as Column[];
const FLAGS: ReadonlySet<Column> = new Set<Column>(['inside', 'preemptible', 'late', 'leaving', 'seen', 'tells', 'ready']);
const JSON_TEXTS: ReadonlySet<Column> = new Set<Column>(['stop', 'wait', 'resumed', 'error']);
const RUNNING_COLUMNS: readonly Column[] = ['id', 'lane', 'owner', 'priority', 'preemptible', 'begun', 'stop', 'lost', 'late', 'number'];

const PUT = `INSERT INTO jobs (${COLUMNS.map(quoted).join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})
  ON CONFLICT (id) DO UPDATE SET ${COLUMNS.filter((column) => column !== 'id' && column !== 'number')
    .map((column) => `${quoted(column)} = excluded.${quoted(column)}`)
    .join(', ')}`;
const DELETIONS = ['DELETE FROM jobs WHERE id = ?', 'DELETE FROM job_notes WHERE job = ?', 'DELETE FROM job_waits WHERE waiter = ?'];

function quoted(column: string): string {
  return `"${column}"`;
}

function toSql(column: Column, row: JobRow): SqlValue {
  const value = row[column];
  if (FLAGS.has(column)) return Number(value);
  return JSON_TEXTS.has(column) && value !== null ? JSON.stringify(value) : (value as SqlValue);
}

function fromSql(row: SqlRow, columns: readonly Column[]): Partial<Record<Column, unknown>> {
  const values: Partial<Record<Column, unknown>> = {};
  for (const column of columns) {
    const value = row[column] as SqlValue;
    if (FLAGS.has(column)) values[column] = value === 1;
    else values[column] = JSON_TEXTS.has(column) && value !== null ? JSON.parse(String(value)) : value;
  }
  return values;
}

function allowed({ newerThan, late, lanes, owners }: Except): readonly SqlValue[] {
  return [newerThan, Number(late), JSON.stringify(lanes), JSON.stringify(owners)];
}

function conditionsOf(filter: Omit<JobFilter, 'limit'>): { readonly where: string; readonly values: readonly SqlValue[] } {
  const { names, prefix, without = [], states, ids } = filter;
  const where = ['TRUE'];
  const values: SqlValue[] = [];
  const add = (condition: string, ...given: SqlValue[]): void => {
    where.push(condition);
    values.push(...given);
  };
  const oneOf = (column: Column, list: readonly string[] | undefined): void => {
    if (list) add(`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(list));
  };
  oneOf('name', names);
  oneOf('state', states);
  oneOf('id', ids);
  if (prefix !== undefined) add('name >= ? AND substr(name, 1, length(?)) = ?', prefix, prefix, prefix);
  for (const each of without) add('substr(name, 1, length(?)) <> ?', each, each);
  if (filter.before !== undefined) add('number < ?', filter.before);
  if (filter.overdue !== undefined)
    add(`((at < ? AND (ready = 1 OR ${LATER})) OR (state = 'running' AND until < ?))`, filter.overdue, filter.overdue);
  for (const column of ['lane', 'owner', 'parent'] as const) if (filter[column] !== undefined) add(`${column} = ?`, filter[column]);
  return { where: where.join(' AND '), values };
}
