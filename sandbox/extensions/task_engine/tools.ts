import { defineTool, PithError, toolError, toolResult, z, type Tool, type ToolResult, type TurnInfo } from 'pith';
import { submitterOf, type TaskService, workedOn } from './task-service.ts';

import { TASK_STATES, threadOf, type Task, hasEnded, taskOfThread } from './task.ts';
import { briefJson, changeJson, cut, taskIdFor, taskJson } from './view.ts';

// Functions, so that importing this file builds no schema.
export const taskId = () => z.string().trim().min(1).describe('The id of a task, as submit_task gave it.');
const goal = () =>
  z
    .string()
    .trim()
    .min(1)
    .max(20_000)
    .describe('What to achieve, with all that the worker must know: it sees nothing of this conversation.');
const agentId = () =>
  z.string().trim().min(1).optional().describe('The agent that works on it; default: yourself. One of those you may delegate to.');
const maxSteps = () => z.int().min(1).max(1000).optional().describe('At most this many model steps; reaching them fails the task.');
const SHOWN = 100;
const WORKED_ON =
  'The task runs while a chat or `pith serve` is open, and waits otherwise. Pith tells the person when it ends: do not wait for it.';
const SUBTASKS = 'When you have submitted all subtasks, end your turn: you are continued with their results.';

/** Submitting and seeing tasks. */
export function taskTools(service: TaskService): readonly Tool[] {
  return [
    defineTool({
      name: 'submit_task',
      description:
        'Hand long work to an agent that does it in the background, survives restarts and reports when it ends. Within a task it makes a subtask.',
      input: z.object({
        goal: goal(),
        agent_id: agentId(),
        priority: z.int().min(-100).max(100).optional().describe('Higher is worked on first; default 0.'),
        after: z.array(taskId()).max(50).optional().describe('Tasks that must be done before; their results are passed on.'),
        max_steps: maxSteps(),
      }),
      effect: 'idempotent', // the id comes from the call
      permission: { authoring: 'admin', safeToShare: false },
      async execute(input, call) {
        const by = await submitterOf(service.store, call.turn);
        const wanted = {
          id: taskIdFor(call.idempotencyKey),
          goal: input.goal,
          agentId: input.agent_id ?? call.turn.agent.id,
          priority: input.priority,
          after: input.after,
          maxSteps: input.max_steps,
        };
        const [task] = await service.submit([wanted], by);
        return submitted([task as Task], by.parent !== null);
      },
    }),
    defineTool({
      name: 'submit_chain',
      description:
        'Hand over several steps that are worked on one after the other; each is given the result of the one before. A failure stops the rest.',
      input: z.object({
        steps: z
          .array(z.object({ goal: goal(), agent_id: agentId(), max_steps: maxSteps() }))
          .min(2)
          .max(20),
        priority: z.int().min(-100).max(100).optional(),
      }),
      effect: 'idempotent',
      permission: { authoring: 'admin', safeToShare: false },
      async execute({ steps, priority }, call) {
        const by = await submitterOf(service.store, call.turn);
        const ids = steps.map((_, index) => taskIdFor(`${call.idempotencyKey}/${index}`));
        const wanted = steps.map((step, index) => ({
          id: ids[index] as string,
          goal: step.goal,
          agentId: step.agent_id ?? call.turn.agent.id,
          priority,
          after: ids.slice(Math.max(0, index - 1), index),
          maxSteps: step.max_steps,
          chain: ids[0] as string,
        }));
        return submitted(await service.submit(wanted, by), by.parent !== null);
      },
    }),
    defineTool({
      name: 'get_task_status',
      description: 'The state, progress and result of one task.',
      input: z.object({ task_id: taskId() }),
      effect: 'read',
      permission: { authoring: 'anyone', safeToShare: false },
      async execute({ task_id }, { turn }) {
        const task = await service.find(task_id, turn.userId);
        const subtasks = (await service.store.subtasks(task.id)).map(briefJson);
        return { ...taskJson(task), subtasks, history: (await service.store.changes(task.id)).slice(-SHOWN).map(changeJson) };
      },
    }),
    defineTool({
      name: 'list_tasks',
      description: 'Tasks, newest first, with their states.',
      input: z.object({ state: z.enum(TASK_STATES).optional(), limit: z.int().min(1).max(SHOWN).default(20) }),
      effect: 'read',
      permission: { authoring: 'anyone', safeToShare: false },
      execute: async ({ state, limit }, { turn }) => ({
        tasks: (await service.store.list(limit, { state: state ?? null, userId: turn.userId })).map(briefJson),
      }),
    }),
    defineTool({
      name: 'cancel_task',
      description: 'Stop a task and its subtasks. What waits for it is cancelled too.',
      input: z.object({ task_id: taskId(), reason: z.string().trim().max(500).default('') }),
      effect: 'idempotent',
      permission: { authoring: 'admin', safeToShare: false },
      async execute({ task_id, reason }, { turn }) {
        const task = await service.find(task_id, turn.userId);
        const worker = await workedOn(service.store, turn);
        if (worker !== null && !(await isBelow(service, task, worker.id)))
          return toolError('not_allowed', `task ${task.id} is not a subtask of ${worker.id}; a worker cancels its own subtasks only`);
        if (task.state === 'cancelled') return briefJson(task);
        return briefJson(await service.cancel(task, `cancelled by '${turn.agent.id}'${reason === '' ? '' : `: ${reason}`}`));
      },
    }),
  ];
}

function submitted(tasks: readonly Task[], within: boolean): ToolResult {
  const [first] = tasks as readonly [Task, ...Task[]];
  const ids = tasks.map(({ id }) => id);
  const output = tasks.length === 1 ? { task_id: first.id, state: first.state } : { chain: first.id, task_ids: ids };
  const title = `Submitted ${tasks.length === 1 ? `task ${first.id}` : `a chain of ${tasks.length} tasks`}: ${cut(first.goal, 60)}`;
  return toolResult({ ...output, note: within ? SUBTASKS : WORKED_ON }, { title, metadata: { tasks: ids, thread: threadOf(first.id) } });
}

async function isBelow(service: TaskService, task: Task, above: string): Promise<boolean> {
  for (let each: Task | null = task; each?.parent; each = await service.store.load(each.parent)) if (each.parent === above) return true;
  return false;
}

/** What the worker of a task says, and what a person says to it. */
export function workerTools(service: TaskService): readonly Tool[] {
  return [
    defineTool({
      name: 'complete_task',
      description: 'Give the result of the task that you work on. Then end your turn.',
      optIn: true, // whoever works on a task has it by `getTurnTools`
      input: z.object({
        result: z.string().trim().min(1).max(100_000).describe('The whole result: whoever asked sees nothing else.'),
        task_id: taskId().optional().describe('Your task; the one you work on is meant in any case.'),
      }),
      effect: 'idempotent',
      permission: { authoring: 'admin', safeToShare: false },
      async execute({ result, task_id }, { turn }) {
        const task = await own(service, turn, task_id);
        const open = (await service.store.subtasks(task.id)).filter((each) => !hasEnded(each));
        if (open.length > 0)
          return toolError(
            'subtasks_open',
            `${open.map(({ id }) => id).join(', ')}: not ended; end your turn, and you are continued with their results`,
          );
        await service.change(task, { type: 'completed', result }, true);
        return { task_id: task.id, note: 'The result is kept. End your turn now.' };
      },
    }),
    defineTool({
      name: 'request_human_review',
      description:
        'Ask a person to decide something about the task that you work on. Then end your turn: you are continued with the answer.',
      optIn: true,
      input: z.object({
        question: z.string().trim().min(1).max(4_000).describe('The question, with all that is needed to answer it.'),
        task_id: taskId().optional(),
      }),
      effect: 'idempotent',
      permission: { authoring: 'admin', safeToShare: false },
      async execute({ question, task_id }, { turn }) {
        const task = await own(service, turn, task_id);
        await service.change(task, { type: 'review_requested', question }, true);
        return { task_id: task.id, note: 'The person is asked when your turn ends. End it now.' };
      },
    }),
    defineTool({
      name: 'respond_to_review',
      description: "Pass on a person's answer to a task that waits for them. Only what the person has said, never an answer of your own.",
      input: z.object({ task_id: taskId(), answer: z.string().trim().min(1).max(20_000) }),
      effect: 'idempotent',
      permission: { authoring: 'admin', safeToShare: false },
      // The person sees the exact answer that is given in their name, each one.
      needsApproval: ({ task_id }) => ({ text: `gives this answer to the task ${task_id} in your name`, once: true }),
      async execute({ task_id, answer: text }, { turn }) {
        if (turn.depth > 0 || taskOfThread(turn.threadId) !== null)
          return toolError('not_allowed', 'only a person answers reviews, in their own conversation or with pith tasks review');
        return briefJson(await service.review(await service.find(task_id, turn.userId), text));
      },
    }),
  ];
}

/** The task that this very turn works on. Agents that the worker called answer to the worker. */
async function own(service: TaskService, turn: TurnInfo, named: string | undefined): Promise<Task> {
  const task = await workedOn(service.store, turn);
  if (task === null || turn.threadId !== threadOf(task.id))
    throw new PithError('not_in_task', 'this turn works on no task; only the worker of a task can do this');
  if (named !== undefined && named !== task.id) throw new PithError('not_allowed', `you work on task ${task.id}, not on '${named}'`);
  return task;
}
