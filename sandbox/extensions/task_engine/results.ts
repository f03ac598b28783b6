import { once } from '@pith/promises';
import { z } from 'pith';
import { taskSchema } from './task.ts';

/** A task as `--json` prints it. */
export const taskResult = once(() => {
  const { id, state, goal, agent, note, priority, steps, maxSteps, attempts, question, result, error, parent, chain, after } =
    taskSchema().shape;
  const { createdAt, updatedAt, retained: loaded } = taskSchema().shape;
  const kept = { id, state, goal, agent, note, priority, steps, maxSteps, attempts, question, result, error, parent, chain, after };
  return z.strictObject({ ...kept, loaded, thread: z.string(), createdAt, updatedAt });
});

/** With whose it is. */
export const ownedTaskResult = once(() => taskResult().extend({ user: z.string() }));

/** What runs in this process and is no task. */
export const workResult = once(() =>
  z.strictObject({
    id: z.string(),
    state: z.enum(['running', 'ended']),
    goal: z.string(),
    startedAt: z.number(),
    ended: z.string().nullable(),
    output: z.string(),
  }),
);

export const listedTaskResult = once(() => z.union([ownedTaskResult(), workResult()]));

export const changedTaskResult = once(() => z.union([taskResult(), workResult()]));

export const shownTaskResult = once(() => {
  const change = z.strictObject({ at: z.int(), state: taskSchema().shape.state, note: z.string().nullable() });
  return z.union([ownedTaskResult().extend({ subtasks: z.array(z.string()), history: z.array(change) }), workResult()]);
});
