import { codeOf, type ExtensionContext } from 'pith';
import type { TaskStore } from './task-store.ts';
import { follow } from './waiting.ts';

/** Longer than a claim of an older Pith. */
const WAIT_MS = 3_000;

const CLAIMED = `SELECT 1 FROM task_engine__tasks WHERE state = 'running' AND until > ? AND until <= ? LIMIT 1`;
const OPEN = `SELECT id FROM task_engine__tasks WHERE state NOT IN ('done', 'failed', 'cancelled') ORDER BY seq`;
const UNREPORTED = 'SELECT seq, task, state, note FROM task_engine__changes WHERE announced = 0 ORDER BY seq';
const REPORTED = 'UPDATE task_engine__changes SET announced = 1 WHERE seq = ? AND announced = 0';

/** Gives the tasks of an older Pith their jobs, once none such works on any. May run in several processes at once. */
export async function adopt(context: Pick<ExtensionContext, 'database' | 'clock' | 'jobs'>, store: TaskStore, signal: AbortSignal) {
  const { database, clock, jobs } = context;
  await store.ready();
  const isClaimed = async () => (await database.get(CLAIMED, clock.now(), clock.now() + WAIT_MS)) !== null;
  while (!signal.aborted && (await isClaimed())) await clock.sleep(WAIT_MS, signal).catch(() => undefined); // it is to stop
  if (signal.aborted) return;
  for (const { id } of await database.all(OPEN))
    await store.write(async (tasks) => {
      const task = await tasks.load(String(id));
      if (task === null) return;
      await tasks.adopt(task.id);
      await follow(tasks, task);
    });
  for (const { seq, task, state, note } of await database.all(UNREPORTED)) {
    const change = jobs.statement('announce', { task, state, note } as { task: string }, { sequence: String(task) });
    await database.write([{ sql: REPORTED, values: [seq as number], changes: 1 }, change]).catch((error: unknown) => {
      if (codeOf(error, '') !== 'write_conflict') throw error; // else another process was faster
    });
  }
}
