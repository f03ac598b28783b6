/** Rows of runs on disk, as one process has them, and without jobs. */
import { createDatabase, openDatabase, openStore } from '../../../core/store/index.ts';
import { migrated, Queries } from '@pith/database-queries';
import { systemClock } from '@pith/promises';
import { RunStore, type NewRun } from '../../../sandbox/extensions/saved_skills/runs/run-store.ts';
import { MIGRATIONS, type Tables } from '../../../sandbox/extensions/saved_skills/store/tables.ts';

/** Writes nothing. */
const NOTHING = { job: 'job', sql: 'UPDATE saved_skills__runs SET steps = steps WHERE false' };

export async function openRuns(file: string) {
  const store = openStore(file, systemClock);
  const queries = new Queries<Tables>(migrated(createDatabase(store, 'saved_skills'), 'saved_skills', MIGRATIONS));
  const never = async () => false;
  const jobs = { statement: () => NOTHING, guard: () => NOTHING, get: async () => null, cancel: never, resume: never };
  return { runs: new RunStore(queries, systemClock, jobs), close: () => store.close() };
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

/** Rows of a file that others write to. */
export function rowsIn<Row>(file: string, sql: string, ...values: readonly (string | number)[]): readonly Row[] {
  const database = openDatabase(file);
  try {
    return database.all(sql, ...values) as unknown as readonly Row[];
  } finally {
    database.close();
  }
}
