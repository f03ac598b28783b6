import { hasEnded, type Task } from './task.ts';
import type { TaskStore } from './task-store.ts';
import type { TaskEvent } from './transitions.ts';

/** Moves on what waited for tasks that have ended, until nothing more moves. Any number of processes may do so at once. */
export async function releaseWaiting(store: TaskStore): Promise<void> {
  let moved = true;
  for (let waiting = store.released(); moved && waiting.length > 0; waiting = store.released()) {
    moved = await store.write((tasks) => {
      let some = false;
      for (const { id } of waiting) {
        const task = tasks.load(id);
        const event = task && eventFor(store, task);
        if (!event || !tasks.change(id, event)) continue;
        some = true;
        if (event.type === 'subtasks_ended') tasks.told(event.endedSubtasks.map((each) => each.id));
      }
      return some;
    });
  }
}

/** What happened to a waiting task; null when another process has moved it already. */
function eventFor(store: TaskStore, task: Task): TaskEvent | null {
  if (hasEnded(task)) return null;
  const parent = task.parent === null ? null : store.load(task.parent);
  if (parent && hasEnded(parent) && parent.state !== 'done')
    return { type: 'cancelled', why: `its parent ${parent.id} is ${parent.state}` };
  if (task.state === 'blocked') {
    const before = task.after.map((id) => store.load(id));
    const broken = before.find((each) => each?.state === 'failed' || each?.state === 'cancelled');
    if (broken) return { type: 'abandoned', why: `it waited for ${broken.id}, which is ${broken.state}` };
    return before.every((each) => each === null || each.state === 'done') ? { type: 'unblocked' } : null;
  }
  if (task.state !== 'waiting_subtasks') return null;
  const subtasks = store.subtasks(task.id);
  return subtasks.every(hasEnded) ? { type: 'subtasks_ended', endedSubtasks: subtasks.filter(({ told }) => !told) } : null;
}
