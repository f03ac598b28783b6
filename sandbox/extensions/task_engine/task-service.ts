import { type AgentSpec, type Clock, type ExtensionContext, PithError } from 'pith';
import { didYouMean } from '@pith/plain-text';
import { hasEnded, type Task } from './task.ts';
import type { TaskStore } from './task-store.ts';
import { awaitsApproval, type TaskEvent } from './transitions.ts';
import type { Worker } from './worker.ts';
import type { Tasks } from './waiting.ts';
import { submit, type Submitter, type Wanted } from './submission.ts';

export interface TaskServicePorts {
  readonly store: TaskStore;
  readonly worker: Worker;
  readonly agents: Pick<ExtensionContext['agents'], 'list'>;
  readonly clock: Clock;
  readonly maxOpen: number;
}

/** What people and agents may do with tasks, the same from a tool, a slash command and the command line. Throws `PithError`. */
export class TaskService {
  constructor(private readonly ports: TaskServicePorts) {}

  get store(): TaskStore {
    return this.ports.store;
  }

  async submit(wanted: readonly Wanted[], by: Submitter): Promise<readonly Task[]> {
    const agents: readonly AgentSpec[] = await this.ports.agents.list();
    return submit(this.ports, wanted, by, agents);
  }

  /** Newest first. */
  async list(limit: number, state: Task['state'] | null, userId: string | null): Promise<readonly Task[]> {
    const tasks = await this.store.list(userId === null ? limit : 1000, state);
    return tasks.filter(({ submitter }) => userId === null || submitter.userId === userId).slice(0, limit);
  }

  /** Throws `task_unknown`, also for tasks of another user. */
  async find(id: string, userId: string | null): Promise<Task> {
    const task = await this.store.load(id);
    if (task && (userId === null || task.submitter.userId === userId)) return task;
    throw new PithError('task_unknown', `there is no task '${id}'${didYouMean(id, await this.store.ids())}`, {
      cure: 'see: pith tasks list',
    });
  }

  /** Takes its subtasks with it; what waits for it is cancelled too. */
  async cancel(task: Task, why: string): Promise<Task> {
    if (hasEnded(task)) throw refused(task, 'it has ended', 'there is nothing to cancel');
    return this.change(task, { type: 'cancelled', why });
  }

  /** Also those that were cancelled because they waited for it. */
  async retry(task: Task): Promise<Task> {
    if (task.state === 'done') throw refused(task, 'it is done', 'submit a new task');
    if (!hasEnded(task) && task.state !== 'retry_scheduled') throw refused(task, `it is ${task.state}`, 'wait, or cancel it first');
    const again = await this.store.write(async (tasks) => {
      const before = await Promise.all(task.after.map((id) => tasks.load(id)));
      const after = await tasks.change(task.id, { type: 'retried', blocked: before.some((each) => each?.state !== 'done') });
      await revive(tasks, task.id);
      return after;
    });
    return again ?? (await this.find(task.id, null));
  }

  /** A person's answer to what the worker asked. */
  async review(task: Task, answer: string): Promise<Task> {
    if (task.state !== 'human_review') throw refused(task, `it is ${task.state} and asks nothing`, 'see: pith tasks list');
    if (awaitsApproval(task)) throw refused(task, 'a tool call waits for approval, not for an answer', 'see: pith approvals');
    return this.change(task, { type: 'reviewed', answer });
  }

  /** `byWorker`: whoever works on the task says it, and counts only while it is theirs. */
  async change(task: Task, event: TaskEvent, byWorker = false): Promise<Task> {
    const job = byWorker ? this.ports.worker.jobOf(task.id) : undefined;
    const after = await this.store.write((tasks) => tasks.change(task.id, event), job);
    if (after) return after;
    const now = await this.find(task.id, null);
    throw refused(now, `it is ${now.state} by now`, `see: pith tasks show ${now.id}`);
  }
}

async function revive(tasks: Tasks, id: string): Promise<void> {
  for (const { id: waiting, state, error } of await tasks.waitingFor(id)) {
    if (state !== 'cancelled' || error?.code !== 'dependency_failed') continue;
    await tasks.change(waiting, { type: 'retried', blocked: true });
    await revive(tasks, waiting);
  }
}

function refused({ id }: Task, why: string, cure: string): PithError {
  return new PithError('task_state', `task ${id}: ${why}`, { cure });
}
