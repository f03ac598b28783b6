import type { Task } from './task.ts';

/** What a task's results are shown with at most; models have windows. */
const SHOWN_RESULT = 8_000;

type Ended = Pick<Task, 'id' | 'goal' | 'state' | 'result' | 'error' | 'note'>;

/** The first thing a worker is told. `before`: the tasks that it waited for. */
export function goalMessage(task: Task, before: readonly Ended[]): string {
  return paragraphs(
    `You work on task ${task.id}. Nobody reads along; what you do is kept after each step.`,
    `Goal: ${task.goal}`,
    before.length === 0 ? null : `Results of the tasks before this one:\n\n${before.map(resultOf).join('\n\n')}`,
    howToEnd(task),
  );
}

/** Where somebody has spoken in the task's thread, so that its turn cannot be continued. */
export function goneOnMessage({ id }: Task): string {
  return `Task ${id}: what was done stands above. Go on with the goal from there, and do not repeat what is done.`;
}

export function retriedMessage({ id, note }: Task): string {
  return `Task ${id}: a person asks you to try again${note === null ? '' : `; it had ended with: ${note}`}. What was done stands above. Go on with the goal from there.`;
}

export function subtasksMessage(task: Task, ended: readonly Ended[]): string {
  return paragraphs(`Task ${task.id}: your subtasks have ended.`, ended.map(resultOf).join('\n\n'), howToEnd(task));
}

export function answerMessage(task: Task, answer: string): string {
  return paragraphs(`Task ${task.id}: a person has answered your question (${task.question}):`, answer, howToEnd(task));
}

function howToEnd({ id }: Task): string {
  return `When the goal is reached, give the result: with complete_task if you have it (task ${id}), else as your answer. If only a person can decide, ask with request_human_review and stop.`;
}

function resultOf({ id, goal, state, result, error, note }: Ended): string {
  const text = state === 'done' ? cut(result ?? '') : `${state}: ${error?.message ?? note ?? 'no reason was given'}`;
  return `<result task="${id}" state="${state}" goal="${cut(goal, 200).replaceAll('"', "'")}">\n${text}\n</result>`;
}

function cut(text: string, most = SHOWN_RESULT): string {
  return text.length > most ? `${text.slice(0, most)}… (${text.length - most} more characters)` : text;
}

function paragraphs(...parts: readonly (string | null)[]): string {
  return parts.filter((part) => part !== null).join('\n\n');
}
