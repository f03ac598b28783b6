import type { Events } from 'pith';
import { taskChanged } from './contract.ts';
import { threadOf, type Task } from './task.ts';
import type { Announcement, TaskStore } from './task-store.ts';
import { awaitsApproval } from './transitions.ts';
import { cut } from './view.ts';

/**
 * Reports each change of state: `task.changed` for programs, `notify` for the person who submitted the task. A change is
 * marked after it was reported, so that a crash may report one twice and never loses one.
 */
export class Announcer {
  #running: Promise<void> | undefined;

  constructor(
    private readonly store: TaskStore,
    private readonly events: Events,
  ) {}

  announce(): Promise<void> {
    this.#running ??= this.#announceAll().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #announceAll(): Promise<void> {
    for (let changes = await this.store.unannounced(); changes.length > 0; changes = await this.store.unannounced()) {
      for (const change of changes) await this.#notify(change);
    }
  }

  async #notify({ seq, state, note, task }: Announcement): Promise<void> {
    if (task === null) return this.store.markAnnounced(seq);
    const { id, goal, submitter } = task;
    const { threadId, userId, person, correlationId } = submitter;
    const options = { key: threadOf(id), ...(correlationId === null ? {} : { correlationId }) };
    const text = person && task.state === state ? noticeOf(task) : null;
    await Promise.all([
      this.events.publish(taskChanged, { v: 1, taskId: id, state, goal, threadId, note }, options),
      ...(text === null ? [] : [this.events.publish('notify', { v: 1, text, kind: 'task', target: null, threadId, userId }, options)]),
      this.store.markAnnounced(seq),
    ]);
  }
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
