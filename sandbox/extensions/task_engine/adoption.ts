import { codeOf, type ExtensionContext, messageOf } from 'pith';
import type { TaskStore } from './task-store.ts';
import { follow } from './waiting.ts';

/** Longer than a claim of an older Pith. */
const WAIT_MS = 3_000;

const CLAIMED = `state = 'running' AND until > ? AND until <= ?`;
const OPEN = `SELECT id, task, ${CLAIMED} AS claimed FROM task_engine__tasks WHERE state NOT IN ('done', 'failed', 'cancelled') ORDER BY seq`;
const UNREPORTED = 'SELECT seq, task, state, note FROM task_engine__changes WHERE announced = 0 ORDER BY seq';
const REPORTED = 'UPDATE task_engine__changes SET announced = 1 WHERE seq = ? AND announced = 0';

type Context = Pick<ExtensionContext, 'clock' | 'jobs' | 'logger'>;

/** Gives the tasks of an older Pith their jobs, each once none such works on it. May run in several processes at once. */
export async function adopt(context: Context, store: TaskStore, signal: AbortSignal): Promise<void> {
  const { clock, logger } = context;
  for (let failures = 0; !signal.aborted;) {
    try {
      if (await adoptAll(context, store)) return;
    } catch (error) {
      if ((failures += 1) === 1) logger.warn('tasks wait until the database can be used again', { error: messageOf(error) });
    }
    await clock.sleep(WAIT_MS, signal).catch(() => undefined); // it is to stop
  }
}

/** False: an older Pith is at work on some, or has just changed them. */
async function adoptAll({ clock, jobs }: Context, store: TaskStore): Promise<boolean> {
  const database = await store.tables();
  const open = await database.all(OPEN, clock.now(), clock.now() + WAIT_MS);
  if (open.some(({ claimed }) => claimed === 1)) return false;
  let areAll = true;
  for (const { id, task: text } of open)
    await store
      .write(async (tasks) => {
        const task = await tasks.load(String(id));
        if (task === null) return;
        if (!(await tasks.adopt(task.id, String(text)))) areAll = false;
        else await follow(tasks, task);
      })
      .catch(unlessConflict); // something else has written bytes into its row that are no text
  for (const { seq, task, state, note } of await database.all(UNREPORTED)) {
    const change = jobs.statement('announce', { task, state, note } as { task: string }, { sequence: String(task) });
    await database.write([{ sql: REPORTED, values: [seq as number], changes: 1 }, change]).catch(unlessConflict); // another process was faster
  }
  return areAll;
}

function unlessConflict(error: unknown): void {
  if (codeOf(error, '') !== 'write_conflict') throw error;
}
