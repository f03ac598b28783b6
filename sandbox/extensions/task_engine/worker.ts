import type { ExtensionContext, TurnEvent, TurnRequest } from 'pith';
import { goalMessage } from './messages.ts';
import { hasEnded, threadOf, type Task } from './task.ts';
import type { TaskStore, TaskWrite } from './task-store.ts';
import type { TaskEvent, TurnOutcome } from './transitions.ts';

export interface WorkerPorts {
  readonly store: TaskStore;
  readonly agents: ExtensionContext['agents'];
  /** The engine's own id, to keep workers from answering reviews. */
  readonly extensionId: string;
}

/** The claim by which this process works on a task. `stop` aborts when the engine stops, `lost` when the claim is somebody else's. */
export interface Claim {
  readonly name: string;
  readonly stop: AbortSignal;
  readonly lost: AbortSignal;
}

/**
 * One turn of a task: an ordinary turn of its agent in the task's own thread, under its own key, so that a process that
 * takes over continues it, or hears its answer again when only the task's row was not written.
 */
export async function workOn(ports: WorkerPorts, task: Task, claim: Claim): Promise<void> {
  const { store } = ports;
  const outcome = await turnOf(ports, task, claim);
  if (claim.lost.aborted) return; // what comes next is decided by whoever holds or ended the task
  await store.write(async (tasks) => {
    const isInterrupted = claim.stop.aborted && outcome.reason === 'aborted';
    const event: TaskEvent = isInterrupted ? { type: 'interrupted' } : await ended(tasks, task.id, outcome);
    const after = await tasks.change(task.id, event, claim.name);
    if (after !== null && event.type === 'turn_ended' && event.openSubtasks === 0)
      await tasks.acknowledge(event.endedSubtasks.map(({ id }) => id));
  });
}

async function turnOf(ports: WorkerPorts, task: Task, claim: Claim): Promise<TurnOutcome> {
  if (task.maxSteps !== null && task.stepsBefore >= task.maxSteps)
    return {
      reason: 'limit',
      text: '',
      outOfSteps: true,
      error: { code: 'limit_reached', message: `all ${task.maxSteps} steps are taken` },
    };
  let steps = task.steps - task.stepsBefore;
  for await (const event of ports.agents.run(await requestFor(ports, task), AbortSignal.any([claim.stop, claim.lost]))) {
    if (event.type === 'turn-end') return outcomeOf(event);
    const retained = event.type === 'tool-result' && event.retain !== undefined ? [event.retain.key] : [];
    if (event.type === 'step-end') steps = event.step + 1;
    else if (retained.length === 0) continue;
    // A checkpoint of what people see; the step itself is in the thread already.
    await ports.store.write((tasks) => tasks.change(task.id, { type: 'progressed', steps, retained }, claim.name));
  }
  return { reason: 'aborted', text: '', outOfSteps: false };
}

async function requestFor({ store, extensionId }: WorkerPorts, task: Task): Promise<TurnRequest> {
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

/** What every worker has: they say something of its own task only. */
export const WORKER_TOOLS = ['complete_task', 'request_human_review'] as const;

function outcomeOf({ reason, text, error }: Extract<TurnEvent, { type: 'turn-end' }>): TurnOutcome {
  // Only the message says which limit it was; steps of delegated turns count as well, so that counting here would not do.
  const outOfSteps = reason === 'limit' && /^stopped at max_turns\b/.test(error?.message ?? '');
  return { reason, text, outOfSteps, ...(error === undefined ? {} : { error }) };
}

async function ended(tasks: TaskWrite, taskId: string, outcome: TurnOutcome): Promise<TaskEvent> {
  const subtasks = await tasks.subtasks(taskId);
  return {
    type: 'turn_ended',
    outcome,
    openSubtasks: subtasks.filter((each) => !hasEnded(each)).length,
    endedSubtasks: subtasks.filter((each) => hasEnded(each) && !each.told),
  };
}
