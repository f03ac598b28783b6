import type { Events } from 'pith';
import { taskChanged } from './contract.ts';
import { threadOf, type Task } from './task.ts';
import type { Change, TaskStore } from './task-store.ts';
import { awaitsApproval } from './transitions.ts';
import { cut } from './view.ts';

/** Reports a change of state: `task.changed` for programs, `notify` for the person who submitted the task. A crash may report one twice. */
export async function announce(store: TaskStore, events: Events, { task: taskId, state, note }: Change): Promise<void> {
  const [task] = await store.loadAll([taskId]);
  if (task === undefined) return; // its row is damaged
  const { id, goal, submitter } = task;
  const { threadId, userId, person, correlationId } = submitter;
  const options = { key: threadOf(id), ...(correlationId === null ? {} : { correlationId }) };
  const about = { kind: 'task', id };
  if (person && (await wasTold(store, id))) await events.publish('notice.settled', { v: 1, about }, options);
  const text = person && task.state === state ? noticeOf(task) : null;
  await Promise.all([
    events.publish(taskChanged, { v: 1, taskId: id, state, goal, threadId, note }, options),
    ...(text === null ? [] : [events.publish('notify', { v: 1, text, kind: 'task', about, target: null, threadId, userId }, options)]),
  ]);
}

/** Whether something was told that another state makes out of date. */
async function wasTold(store: TaskStore, id: string): Promise<boolean> {
  const changes = await store.changes(id);
  return changes.slice(0, -1).some(({ state }) => state === 'human_review' || state === 'failed');
}

const SHOWN = 1_000;

/** What a person wants to know without asking: how it ended, or that it waits for them. */
function noticeOf(task: Task): string | null {
  const { id, goal, state, result, error, question } = task;
  const about = `Task ${id} (${cut(goal, 60)})`;
  if (state === 'done') return `${about} is done:\n\n${beginning(result ?? '')}`;
  if (state === 'failed')
    return `${about} has failed: ${error?.message ?? ''}; see: pith tasks show ${id}, try again: pith tasks retry ${id}`;
  // A tool call that waits for approval is asked by the kernel itself.
  if (state === 'human_review' && !awaitsApproval(task))
    return `${about} asks: ${question}; answer: pith tasks review ${id} "<your answer>"`;
  return null;
}

/** With its lines: a person reads it as Markdown. */
function beginning(result: string): string {
  const text = result.trim();
  return text.length > SHOWN ? `${text.slice(0, SHOWN - 1)}…` : text;
}
