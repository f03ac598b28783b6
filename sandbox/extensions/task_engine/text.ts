import type { CommandIO } from 'pith';
import { threadOf, type Task } from './task.ts';
import type { TaskChange } from './task-store.ts';
import { cut } from './view.ts';

const GAP = '  ';
const LEAST_GOAL = 20;

/** One line a task, in columns. */
export function listText(tasks: readonly Task[], now: number, io: Pick<CommandIO, 'interactive' | 'columns'>): string {
  if (tasks.length === 0) return 'There are no tasks. Submit one with: pith tasks submit "<goal>"';
  const rows = [
    ['ID', 'STATE', 'AGENT', 'STEPS', 'CHANGED', 'GOAL'],
    ...tasks.map((task) => [task.id, task.state, task.agent, String(task.steps), `${ago(now - task.updatedAt)} ago`, task.goal]),
  ];
  const widths = rows[0]!.slice(0, -1).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const used = widths.reduce((sum, width) => sum + width + GAP.length, 0);
  const room = io.interactive ? Math.max(LEAST_GOAL, (io.columns || 120) - used) : Infinity;
  return rows.map((row) => [...widths.map((width, column) => row[column]!.padEnd(width)), cut(row.at(-1)!, room)].join(GAP)).join('\n');
}

/** All that a person wants to know of one task. */
export function taskText(task: Task, subtasks: readonly Task[], changes: readonly TaskChange[]): string {
  const { id, state, goal, agent, steps, maxSteps, attempts, note, parent, after, retained, question, result, error } = task;
  const line = (name: string, value: string | null) => (value === null || value === '' ? [] : [`${`${name}:`.padEnd(11)}${value}`]);
  return [
    `Task ${id} is ${state}${note === null || note === question ? '' : `: ${note}`}`,
    ...line('Goal', goal),
    ...line('Agent', agent),
    ...line('Steps', `${steps}${maxSteps === null ? '' : ` of at most ${maxSteps}`}`),
    ...line('Failures', attempts === 0 ? null : String(attempts)),
    ...line('Loaded', retained.join(', ')),
    ...line('Parent', parent),
    ...line('After', after.join(', ')),
    ...line('Subtasks', subtasks.map((each) => `${each.id} (${each.state})`).join(', ')),
    ...line('Thread', `pith threads show ${threadOf(id)}`),
    ...line('History', changes.map((change) => `${clockTime(change.at)} ${change.state}`).join(', ')),
    ...(state === 'human_review' && question !== null
      ? ['', `It asks: ${question}`, `Answer:  pith tasks review ${id} "<your answer>"`]
      : []),
    ...(error === null ? [] : ['', `It ended with ${error.code}: ${error.message}`, `Try again with: pith tasks retry ${id}`]),
    ...(result === null ? [] : ['', result]),
  ].join('\n');
}

function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

function clockTime(at: number): string {
  return new Date(at).toISOString().slice(11, 19);
}
