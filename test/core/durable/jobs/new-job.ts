import { ulid } from 'ulid';
import { type JobDeclaration, type JobRow, type JobStore, type NewJob, PLAIN_JOB } from '../../../../core/durable/index.ts';

export function declared(name: string, changes: Partial<JobDeclaration> = {}): JobDeclaration {
  const backoff = { first_ms: 1_000, most_ms: 300_000 };
  return { name, concurrency: 16, version: 1, lanes: false, keep: true, attempts: 8, backoff, ...changes };
}

export function newJob(name: string, changes: Partial<NewJob> = {}): NewJob {
  return { ...PLAIN_JOB, id: ulid(), name, payload: '{}', mostAttempts: 8, ...changes };
}

/** What a process is given that works on these names. */
export async function takenFrom(store: JobStore, ...names: readonly string[]): Promise<readonly JobRow[]> {
  const jobs = new Map(names.map((name) => [name, declared(name)]));
  return (await store.claim({ holder: 'test', jobs, policies: new Map(), only: null, most: 99 })).taken;
}
