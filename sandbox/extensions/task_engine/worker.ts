import { codeOf, type ExtensionContext, type Job, type JobInfo, PithError, type TurnEvent, type TurnRequest } from 'pith';
import { goalMessage } from './messages.ts';
import { hasEnded, threadOf, type Task } from './task.ts';
import type { TaskStore } from './task-store.ts';
import { awaitsApproval, hasJob, type TurnOutcome } from './transitions.ts';
import { type Tasks, newResults } from './waiting.ts';

/** The payload of jobs that work on tasks. */
export interface Work {
  readonly task: string;
}

/** While the database takes no changes. */
const PAUSE_MS = 5_000;

/** Works on tasks whose jobs this process has. */
export class Worker {
  readonly #jobs = new Map<string, Job<Work>>();

  constructor(
    private readonly store: TaskStore,
    private readonly context: Pick<ExtensionContext, 'agents' | 'clock' | 'id' | 'jobs'>,
  ) {}

  /** By which this process works on the task; undefined: it does not. */
  jobOf(taskId: string): Job<Work> | undefined {
    return this.#jobs.get(taskId);
  }

  /**
   * One turn of a task: an ordinary turn of its agent in the task's own thread, under its own key, so that a process that
   * takes over continues it, or hears its answer again when only the task's row was not written.
   */
  async work(job: Job<Work>, signal: AbortSignal) {
    const { clock, jobs } = this.context;
    try {
      const after = await this.#turn(job, signal);
      if (after === null) return; // it has ended, or goes on by another job
      const at = clock.now() + (after.waitMs ?? 0);
      if (awaitsApproval(after)) return jobs.wait({ resume: true, deadline: at });
      if (after.waitMs !== null) return jobs.again(at);
    } catch (error) {
      // A full disk: what was not written is as it was, and is done when it can be.
      if (codeOf(error, '') === 'database_failed') return jobs.again(clock.now() + PAUSE_MS);
      throw error;
    }
  }

  /** A job that did not end by itself takes its task with it. */
  async ended({ id, payload, state, error }: JobInfo): Promise<void> {
    const { task: taskId } = payload as unknown as Work;
    const why = error ?? { code: 'internal', message: 'its job ended' };
    await this.store.write(async (tasks) => {
      const task = await tasks.load(taskId);
      if (task?.job !== id || !hasJob(task)) return;
      await tasks.change(taskId, state === 'cancelled' ? { type: 'cancelled', why: why.message } : { type: 'died', error: why });
    });
  }

  async #turn(job: Job<Work>, signal: AbortSignal): Promise<Task | null> {
    const { store } = this;
    const { task: id } = job.payload;
    const task = await store.write((tasks) => tasks.change(id, { type: 'claimed', job: job.id }), job);
    if (task === null) return null;
    this.#jobs.set(id, job);
    try {
      const outcome = await this.#outcome(task, job, signal);
      const isInterrupted = signal.aborted && outcome.reason === 'aborted';
      if (isInterrupted && codeOf(signal.reason, '') !== 'stopped') throw signal.reason; // `ended` says what becomes of it, or whoever has it now
      const after = await store.write(
        (tasks) => (isInterrupted ? tasks.change(id, { type: 'interrupted' }) : endTurn(tasks, task, outcome)),
        job,
      );
      if (after?.state === 'retry_scheduled' && after.waitMs === null) throw failureOf(outcome);
      return after;
    } finally {
      if (this.#jobs.get(id) === job) this.#jobs.delete(id);
    }
  }

  async #outcome(task: Task, job: Job<Work>, signal: AbortSignal): Promise<TurnOutcome> {
    const { store } = this;
    const { agents } = this.context;
    if (task.maxSteps !== null && task.stepsBefore >= task.maxSteps)
      return {
        reason: 'limit',
        text: '',
        outOfSteps: true,
        error: { code: 'limit_reached', message: `all ${task.maxSteps} steps are taken` },
      };
    let steps = task.steps - task.stepsBefore;
    for await (const event of agents.run(await this.#request(task), signal)) {
      if (event.type === 'turn-end') return outcomeOf(event);
      const retained = event.type === 'tool-result' && event.retain !== undefined ? [event.retain.key] : [];
      if (event.type === 'step-end') steps = event.step + 1;
      else if (retained.length === 0) continue;
      // A checkpoint of what people see; the step itself is in the thread already.
      const progress = { type: 'progressed', steps, retained } as const;
      if ((await store.write((tasks) => tasks.change(task.id, progress), job)) === null) break; // it was cancelled
      if (event.type === 'step-end') await job.note({ steps }); // a loss of the process after it begins a new row of losses
    }
    return { reason: 'aborted', text: '', outOfSteps: false };
  }

  async #request(task: Task): Promise<TurnRequest> {
    const { store } = this;
    const { id: extensionId } = this.context;
    const { submitter, maxSteps, stepsBefore } = task;
    return {
      agent: task.agent,
      input: task.message ?? goalMessage(task, await store.loadAll(task.after)),
      threadId: threadOf(task.id),
      key: `${task.id}/${task.turn}`,
      channelId: submitter.channelId,
      userId: submitter.userId,
      ...(submitter.correlationId === null ? {} : { correlationId: submitter.correlationId }),
      policy: {
        ...(task.tools === null ? {} : { allowTools: [...task.tools, ...WORKER_TOOLS.map((tool) => `${extensionId}/${tool}`)] }),
        denyTools: [...new Set([...task.denied, `${extensionId}/respond_to_review`])], // the last is a person's
        ...(task.startedBy.length === 0 ? {} : { startedBy: task.startedBy }),
        ...(maxSteps === null ? {} : { limits: { max_turns: maxSteps - stepsBefore } }),
      },
    };
  }
}

/** What every worker has: they say something of its own task only. */
export const WORKER_TOOLS = ['complete_task', 'request_human_review'] as const;

function outcomeOf({ reason, text, error }: Extract<TurnEvent, { type: 'turn-end' }>): TurnOutcome {
  const outOfSteps = reason === 'limit' && error?.limit === 'max_turns';
  return { reason, text, outOfSteps, ...(error === undefined ? {} : { error }) };
}

function failureOf({ error }: TurnOutcome): PithError {
  const { code = 'internal', message = 'the turn failed', retryAfterMs } = error ?? {};
  return new PithError(code === 'database_failed' ? 'internal' : code, message, { retryAfterMs }); // a damaged thread is no full disk
}

async function endTurn(tasks: Tasks, task: Task, outcome: TurnOutcome): Promise<Task | null> {
  const subtasks = await tasks.subtasks(task.id);
  const openSubtasks = subtasks.filter((each) => !hasEnded(each)).length;
  return tasks.change(task.id, { type: 'turn_ended', outcome, openSubtasks, endedSubtasks: newResults(task, subtasks) });
}
