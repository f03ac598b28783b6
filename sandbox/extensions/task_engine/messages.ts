import type { Task } from './task.ts';

/** What a task's results are shown with at most; models have windows. */
const SHOWN_RESULT = 8_000;

type Ended = Pick<Task, 'id' | 'goal' | 'state' | 'result' | 'error' | 'note'>;

/**
 * The first message to a worker: the goal in the words of who set it, because what skills there are is searched by this text.
 * `before`: the tasks that it waited for.
 */
export function goalMessage({ goal }: Task, before: readonly Ended[]): string {
  return before.length === 0 ? goal : paragraphs(goal, 'Results of the tasks before this one:', ...before.map(resultOf));
}

/** What is in the system text of the worker's turns: the same bytes in each of them. */
export function workerText(taskId: string, canComplete: boolean, canAsk: boolean): string {
  return [
    '[Task]',
    `You work on task ${taskId}. Nobody reads along; what you do is kept after each step.`,
    canComplete ? 'When the goal is reached, give the result with complete_task, then end your turn.' : 'Your answer is the result.',
    ...(canAsk ? ['If only a person can decide something, ask with request_human_review, then end your turn.'] : []),
  ].join('\n');
}

/** Where somebody has spoken in the task's thread, so that its turn cannot be continued. */
export function goneOnMessage(): string {
  return 'What was done is above. Go on with the goal from there, and do not repeat what is done.';
}

export function retriedMessage({ note }: Task): string {
  return `Try again${note === null ? '' : `; it had ended with: ${note}`}. What was done is above. Go on with the goal from there.`;
}

export function subtasksMessage(ended: readonly Ended[]): string {
  return paragraphs('Your subtasks have ended. Go on with the goal.', ...ended.map(resultOf));
}

export function answerMessage({ question }: Task, answer: string): string {
  return paragraphs(`A person has answered your question (${question}):`, answer);
}

function resultOf({ id, goal, state, result, error, note }: Ended): string {
  const text = state === 'done' ? cut(result ?? '') : `${state}: ${error?.message ?? note ?? 'no reason was given'}`;
  return `<result task="${id}" state="${state}" goal="${cut(goal, 200).replaceAll('"', "'")}">\n${text}\n</result>`;
}

function cut(text: string, most = SHOWN_RESULT): string {
  return text.length > most ? `${text.slice(0, most)}… (${text.length - most} more characters)` : text;
}

function paragraphs(...parts: readonly string[]): string {
  return parts.join('\n\n');
}
