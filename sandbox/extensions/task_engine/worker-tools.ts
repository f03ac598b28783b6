import { defineTool, toolError, z, type Tool, type ToolResult, type TurnInfo } from 'pith';
import type { TaskService } from './task-service.ts';
import { workedOn } from './submission.ts';
import { hasEnded, taskOfThread, threadOf, type Task } from './task.ts';
import { answer, taskId } from './tools.ts';
import { briefJson } from './view.ts';

/** What the worker of a task says, and what a person says to it. */
export function workerTools(service: TaskService): readonly Tool[] {
  return [
    defineTool({
      name: 'complete_task',
      description: 'Give the result of the task that you work on. Then end your turn.',
      input: z.object({
        result: z.string().trim().min(1).max(100_000).describe('The whole result: whoever asked sees nothing else.'),
        task_id: taskId().optional().describe('Your task; the one you work on is meant in any case.'),
      }),
      effect: 'idempotent',
      execute: ({ result, task_id }, { turn }) =>
        answer(async () => {
          const task = await own(service, turn, task_id);
          if ('ok' in task) return task;
          const open = (await service.store.subtasks(task.id)).filter((each) => !hasEnded(each));
          if (open.length > 0)
            return toolError(
              'subtasks_open',
              `${open.map(({ id }) => id).join(', ')}: not ended; end your turn, and you are continued with their results`,
            );
          await service.change(task, { type: 'completed', result }, true);
          return { task_id: task.id, note: 'The result is kept. End your turn now.' };
        }),
    }),
    defineTool({
      name: 'request_human_review',
      description:
        'Ask a person to decide something about the task that you work on. Then end your turn: you are continued with the answer.',
      input: z.object({
        question: z.string().trim().min(1).max(4_000).describe('The question, with all that is needed to answer it.'),
        task_id: taskId().optional(),
      }),
      effect: 'idempotent',
      execute: ({ question, task_id }, { turn }) =>
        answer(async () => {
          const task = await own(service, turn, task_id);
          if ('ok' in task) return task;
          await service.change(task, { type: 'review_requested', question }, true);
          return { task_id: task.id, note: 'The person is asked when your turn ends. End it now.' };
        }),
    }),
    defineTool({
      name: 'respond_to_review',
      description: "Pass on a person's answer to a task that waits for them. Only what the person has said, never an answer of your own.",
      input: z.object({ task_id: taskId(), answer: z.string().trim().min(1).max(20_000) }),
      effect: 'idempotent',
      // The person sees the exact answer that is given in their name, each one.
      needsApproval: ({ task_id }) => ({ text: `gives this answer to the task ${task_id} in your name`, once: true }),
      execute: ({ task_id, answer: text }, { turn }) =>
        answer(async () => {
          if (turn.depth > 0 || taskOfThread(turn.threadId) !== null)
            return toolError('not_allowed', 'only a person answers reviews, in their own conversation or with pith tasks review');
          return briefJson(await service.review(await service.find(task_id, turn.userId), text));
        }),
    }),
  ];
}

/** The task that this very turn works on. Agents that the worker called answer to the worker. */
async function own(service: TaskService, turn: TurnInfo, named: string | undefined): Promise<Task | ToolResult> {
  await service.store.ready();
  const task = await workedOn(service.store, turn);
  if (task === null || turn.threadId !== threadOf(task.id))
    return toolError('not_in_task', 'this turn works on no task; only the worker of a task can do this');
  if (named !== undefined && named !== task.id) return toolError('not_allowed', `you work on task ${task.id}, not on '${named}'`);
  return task;
}
