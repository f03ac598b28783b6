/** A store of runs that several processes share, with a record of all that happens to its runs in the order of commits. */
import { createDatabase, openDatabase, openStore } from '../../../core/store/index.ts';
import { migrate, Queries } from '@pith/database-queries';
import { systemClock } from '@pith/promises';
import { RunStore, type NewRun } from '../../../sandbox/extensions/saved_skills/runs/run-store.ts';
import { MIGRATIONS, type Tables } from '../../../sandbox/extensions/saved_skills/store/tables.ts';

/** The runs in a file, as one process has them. */
export async function openRuns(file: string, clock: { now(): number } = systemClock) {
  const store = openStore(file, systemClock);
  const database = createDatabase(store, 'saved_skills');
  let reads = 0;
  const counted = { ...database, all: (...query: Parameters<typeof database.all>) => ((reads += 1), database.all(...query)) };
  const queries = new Queries<Tables>(counted);
  await migrate(queries, 'saved_skills', MIGRATIONS);
  return { runs: new RunStore(queries, clock), reads: () => reads, store, close: () => store.close() };
}

/** The id of the run that is the `number`th in time. */
export function idOf(number: number): string {
  return `01${String(number).padStart(24, '0')}`;
}

export function newRun(number: number, more: Partial<NewRun> = {}): NewRun {
  return {
    id: idOf(number),
    skill_id: 'skill',
    skill: 'ada/skill',
    version_id: 'version',
    version: '1.0.0',
    pinned: 0,
    user_id: 'ada',
    acts_as: 'ada',
    cause: 'manual',
    inputs: '{}',
    origin: '{"channelId":null,"threadId":null,"message":null}',
    parent_id: null,
    depth: 0,
    lane: 'skill-default',
    priority: 0,
    preemptible: 0,
    ...more,
  };
}

/** One change of a run's state or attempt. */
export interface Change {
  readonly id: string;
  readonly lane: string;
  readonly userId: string;
  readonly from: string;
  readonly to: string;
  readonly attempt: number;
  readonly holder: string | null;
  /** Runs of its lane that have a slot now. */
  readonly running: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

const RECORD = `
CREATE TABLE saved_skills__changes (seq INTEGER PRIMARY KEY, id, lane, userId, "from", "to", attempt, holder, running, at);
CREATE TRIGGER saved_skills__changed AFTER UPDATE OF state, attempt ON saved_skills__runs
  WHEN old.state <> new.state OR old.attempt <> new.attempt
  BEGIN
    INSERT INTO saved_skills__changes (id, lane, userId, "from", "to", attempt, holder, running, at)
    VALUES (new.id, new.lane, new.user_id, old.state, new.state, new.attempt, new.holder,
      (SELECT count(*) FROM saved_skills__runs WHERE lane = new.lane AND state = 'running' AND parent_id IS NULL),
      CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
  END;`;

/** Begins the record. */
export function record(file: string): void {
  const database = openDatabase(file);
  database.exec(RECORD);
  database.close();
}

/** Rows of a file that others write to. */
export function rowsIn<Row>(file: string, sql: string, ...values: readonly (string | number)[]): readonly Row[] {
  const database = openDatabase(file);
  try {
    return database.all(sql, ...values) as unknown as readonly Row[];
  } finally {
    database.close();
  }
}

export function changesIn(file: string): readonly Change[] {
  return rowsIn<Change>(file, 'SELECT * FROM saved_skills__changes ORDER BY seq');
}

const ENDS = new Set(['ok', 'max_iterations', 'timeout', 'error', 'cancelled', 'preempted']);

/** What is wrong with a record, as texts: a run that ended twice or not at all, or an attempt that began where another had not been given up. */
export function wrongIn(changes: readonly Change[], ids: readonly string[]): readonly string[] {
  const byRun = new Map<string, Change[]>(ids.map((id) => [id, []]));
  for (const change of changes) byRun.get(change.id)?.push(change);
  return ids.flatMap((id) => {
    const own = byRun.get(id) ?? [];
    const ends = own.filter(({ to }) => ENDS.has(to));
    const afterEnd = own.filter(({ from }) => ENDS.has(from));
    const attempts = own.filter(({ to }) => to === 'running').map(({ attempt }) => attempt);
    return [
      ...(ends.length === 1 ? [] : [`${id} ended ${ends.length} times`]),
      ...(afterEnd.length === 0 ? [] : [`${id} went on after its end`]),
      ...(attempts.every((attempt, index) => attempt === index + 1) ? [] : [`${id} had the attempts ${attempts.join(', ')}`]),
    ];
  });
}
