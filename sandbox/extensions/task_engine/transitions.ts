import { counted } from '@pith/plain-text';
import type { TopicMap, TurnEvent } from 'pith';
import { answerMessage, goneOnMessage, retriedMessage, subtasksMessage } from './messages.ts';
import { hasEnded, type Task, type TaskState } from './task.ts';

/** How a turn of the worker ended. */
export interface TurnOutcome {
  readonly reason: TopicMap['turn.ended']['reason'];
  readonly text: string;
  readonly error?: Extract<TurnEvent, { type: 'turn-end' }>['error'];
  /** It ended because all steps that it might take were taken. */
  readonly outOfSteps: boolean;
}

export type SubtaskOutcome = Pick<Task, 'id' | 'goal' | 'state' | 'result' | 'error' | 'note'>;

/** All that can happen to a task. */
export type TaskEvent =
  | { readonly type: 'unblocked' }
  | { readonly type: 'abandoned'; readonly why: string }
  /** Its job has begun. */
  | { readonly type: 'claimed'; readonly job: string }
  | { readonly type: 'progressed'; readonly steps: number; readonly retained: readonly string[] }
  | { readonly type: 'review_requested'; readonly question: string }
  | { readonly type: 'completed'; readonly result: string }
  | {
      readonly type: 'turn_ended';
      readonly outcome: TurnOutcome;
      readonly openSubtasks: number;
      readonly endedSubtasks: readonly SubtaskOutcome[];
    }
  | { readonly type: 'interrupted' }
  /** Its job ended without a turn that ended. */
  | { readonly type: 'died'; readonly error: { readonly code: string; readonly message: string } }
  | { readonly type: 'subtasks_ended'; readonly endedSubtasks: readonly SubtaskOutcome[] }
  | { readonly type: 'reviewed'; readonly answer: string }
  | { readonly type: 'cancelled'; readonly why: string }
  | { readonly type: 'retried'; readonly blocked: boolean };

const BUSY_WAIT_MS = 1_000;
/** A question that nobody answers within a day is answered by that; its turn goes on and learns it. */
const APPROVAL_WAIT_MS = 86_460_000;

/** Failures that another attempt cannot cure. */
const LASTING = new Set(['agent_unknown', 'model_auth', 'model_unknown', 'model_context_too_long', 'usage']);

/** The task after an event; null where the event does not fit its state. Knows no clock. */
export function advance(task: Task, event: TaskEvent): Task | null {
  if (hasEnded(task)) return event.type === 'retried' && task.state !== 'done' ? retried(task, event.blocked) : null;
  switch (event.type) {
    case 'cancelled':
      return to(task, 'cancelled', { note: event.why });
    case 'abandoned':
      return to(task, 'cancelled', { note: event.why, error: { code: 'dependency_failed', message: event.why } });
    case 'unblocked':
      return task.state === 'blocked' ? to(task, 'pending') : null;
    case 'claimed':
      return hasJob(task) && task.job === event.job ? to(task, 'running') : null;
    case 'died':
      return hasJob(task) ? died(task, event.error) : null;
    case 'subtasks_ended':
      return task.state === 'waiting_subtasks' ? withResults(task, event.endedSubtasks) : null;
    case 'reviewed':
      return task.state === 'human_review' && !awaitsApproval(task)
        ? nextTurn({ ...task, question: null, attempts: 0 }, answerMessage(task, event.answer))
        : null;
    case 'retried':
      return task.state === 'retry_scheduled' ? to(task, 'pending') : null;
    default:
      return task.state === 'running' ? whileRunning(task, event) : null;
  }
}

type RunningEvent = Extract<TaskEvent, { type: 'progressed' | 'review_requested' | 'completed' | 'turn_ended' | 'interrupted' }>;

function whileRunning(task: Task, event: RunningEvent): Task | null {
  switch (event.type) {
    case 'progressed': {
      const retained = [...new Set([...task.retained, ...event.retained])];
      return { ...task, steps: task.stepsBefore + event.steps, retained };
    }
    case 'review_requested':
      return { ...task, question: event.question };
    case 'completed':
      return { ...task, completed: event.result };
    case 'interrupted':
      return to(task, 'pending', { note: 'Pith was stopped' }); // its turn is continued
    case 'turn_ended':
      return turnEnded(task, event);
  }
}

function turnEnded(task: Task, { outcome, openSubtasks, endedSubtasks }: Extract<TaskEvent, { type: 'turn_ended' }>): Task {
  const { reason, text, error } = outcome;
  if (reason === 'awaiting_approval')
    return to(task, 'human_review', { waitMs: APPROVAL_WAIT_MS, note: 'a tool call waits for approval: see pith approvals' });
  if (task.completed !== null) return to(task, 'done', { result: task.completed });
  if (task.question !== null) return to(task, 'human_review', { note: task.question });
  if (reason === 'limit')
    return failed(task, isOutOfSteps(task, outcome) ? 'step_limit' : 'limit_reached', error?.message ?? 'a limit was reached');
  if (reason === 'aborted') return to(task, 'pending', { note: 'its turn was stopped' });
  if (reason === 'error') return afterError(task, error ?? { code: 'internal', message: 'the turn failed without a reason' });
  if (openSubtasks > 0) return to(task, 'waiting_subtasks', { note: `waits for ${counted(openSubtasks, 'subtask')}` });
  if (endedSubtasks.length > 0) return withResults(task, endedSubtasks);
  return to(task, 'done', { result: text });
}

function withResults(task: Task, subtasks: readonly SubtaskOutcome[]): Task {
  const received = [...task.received, ...subtasks.map(({ id }) => id)];
  return nextTurn({ ...task, attempts: 0, received }, subtasksMessage(subtasks));
}

/** A turn that is asked for again after a crash says only that a limit was reached. */
function isOutOfSteps({ maxSteps, steps }: Task, { outOfSteps }: TurnOutcome): boolean {
  return outOfSteps || (maxSteps !== null && steps >= maxSteps);
}

/** Another attempt continues the same turn: what it has done is not done again. */
function afterError(task: Task, { code, message }: { readonly code: string; readonly message: string }): Task {
  // Somebody else works in the thread, for instance the one who answered an approval: that is no failure.
  if (code === 'thread_busy') return to(task, 'retry_scheduled', { waitMs: BUSY_WAIT_MS, note: message });
  if (code === 'model_rate_limited') return to(task, 'retry_scheduled', { note: message }); // it has not failed, and waits for the provider
  const failures = { ...task, attempts: task.attempts + 1 };
  if (LASTING.has(code)) return failed(failures, code, message);
  const next = code === 'interrupted' ? nextTurn(failures, goneOnMessage()) : failures;
  return to(next, 'retry_scheduled', { note: message }); // its job says when, and how often
}

function died(task: Task, { code, message }: { readonly code: string; readonly message: string }): Task {
  const { state, attempts } = task;
  return failed(task, code, state === 'retry_scheduled' ? `${message} (${counted(attempts, 'attempt')})` : message);
}

function retried(task: Task, blocked: boolean): Task {
  const fresh = { ...task, steps: 0, error: null, completed: null, question: null, attempts: 0 };
  const next = task.steps > 0 ? nextTurn(fresh, retriedMessage(task)) : { ...fresh, turn: task.turn + 1 };
  return to(next, blocked ? 'blocked' : 'pending');
}

/** Whether a job works on it, or will once its time has come. */
export function hasJob(task: Task): boolean {
  return ['pending', 'retry_scheduled', 'running'].includes(task.state) || awaitsApproval(task);
}

/** Its turn is suspended until a person approves or refuses a tool call. */
export function awaitsApproval({ state, waitMs }: Task): boolean {
  return state === 'human_review' && waitMs !== null;
}

function failed(task: Task, code: string, message: string): Task {
  return to(task, 'failed', { error: { code, message }, note: `${code}: ${message}` });
}

/** Another turn in the same thread, which has seen all that was done. */
function nextTurn(task: Task, message: string): Task {
  const turn = { ...task, turn: task.turn + 1, message, stepsBefore: task.steps };
  return to(turn, 'pending');
}

function to(task: Task, state: TaskState, with_: Partial<Task> = {}): Task {
  return { ...task, state, note: null, waitMs: null, ...with_ };
}
