import { hasEnded, type Task } from './task.ts';
import type { TaskEvent } from './transitions.ts';

/** The tasks of one write. */
export interface Tasks {
  load(id: string): Promise<Task | null>;
  /** Oldest first. */
  subtasks(parent: string): Promise<readonly Task[]>;
  /** Tasks that wait for this one, whatever their state. */
  waitingFor(id: string): Promise<readonly Task[]>;
  /** The task after the event, and with it what waits for it; null when the event does not fit. */
  change(id: string, event: TaskEvent): Promise<Task | null>;
}

/** Moves on what waits for a task that has ended, and the task itself where what it waits for has ended before. */
export async function follow(tasks: Tasks, task: Task): Promise<void> {
  const event = await eventFor(tasks, task);
  if (event !== null) return void (await tasks.change(task.id, event));
  if (!hasEnded(task)) return;
  const parent = task.parent === null ? null : await tasks.load(task.parent);
  const others = [...(await tasks.subtasks(task.id)), ...(await tasks.waitingFor(task.id)), ...(parent ? [parent] : [])];
  for (const { id } of others) {
    const now = await tasks.load(id); // the one before may have moved it
    if (now !== null && !hasEnded(now)) await follow(tasks, now);
  }
}

/** What happened to a task by the end of others; null: nothing. */
async function eventFor(tasks: Tasks, task: Task): Promise<TaskEvent | null> {
  if (hasEnded(task)) return null;
  const parent = task.parent === null ? null : await tasks.load(task.parent);
  if (parent && hasEnded(parent) && parent.state !== 'done')
    return { type: 'cancelled', why: `its parent ${parent.id} is ${parent.state}` };
  if (task.state === 'blocked') {
    const before = await Promise.all(task.after.map((each) => tasks.load(each)));
    const broken = before.find((each) => each?.state === 'failed' || each?.state === 'cancelled');
    if (broken) return { type: 'abandoned', why: `it waited for ${broken.id}, which is ${broken.state}` };
    return before.every((each) => each === null || each.state === 'done') ? { type: 'unblocked' } : null;
  }
  if (task.state !== 'waiting_subtasks') return null;
  const subtasks = await tasks.subtasks(task.id);
  return subtasks.every(hasEnded) ? { type: 'subtasks_ended', endedSubtasks: newResults(task, subtasks) } : null;
}

/** Those that have ended and whose results it does not know. */
export function newResults({ received }: Task, subtasks: readonly Task[]): readonly Task[] {
  return subtasks.filter((each) => hasEnded(each) && !each.told && !received.includes(each.id));
}
