import { once } from '@pith/promises';
import { z } from 'pith';

export const TASK_STATES = [
  'pending',
  'blocked',
  'running',
  'waiting_subtasks',
  'human_review',
  'retry_scheduled',
  'done',
  'failed',
  'cancelled',
] as const;

export type TaskState = (typeof TASK_STATES)[number];

/** A stored task. Fields that came later have defaults, so that older rows are read. Made on first use: whoever has no tasks builds no schema. */
export const taskSchema = once(() =>
  z.object({
    id: z.string(),
    goal: z.string(),
    agent: z.string(),
    state: z.enum(TASK_STATES),
    /** Why it is in this state, for people; null where the state says it all. */
    note: z.string().nullable(),
    /** Higher is worked on first. */
    priority: z.int(),
    /** Model steps in all its turns; null: as many as its agent has in one turn. */
    maxSteps: z.int().nullable(),
    /** Model steps of the turns that have ended. */
    stepsBefore: z.int(),
    /** Model steps until now. */
    steps: z.int(),
    /** Attempts that have failed since the last one that did not. */
    attempts: z.int(),
    /** The number of its current turn, from 0: the turn's key is `id/turn`. */
    turn: z.int(),
    /** The message of the current turn; null: the goal. */
    message: z.string().nullable(),
    /** How long it waits in this state: for its thread, or at most for an approval. */
    waitMs: z.int().nullable(),
    /** What the worker gave to complete_task. */
    completed: z.string().nullable(),
    result: z.string().nullable(),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    /** What the worker asks a person. */
    question: z.string().nullable(),
    parent: z.string().nullable(),
    depth: z.int(),
    /** The first task of the chain that it is a part of. */
    chain: z.string().nullable(),
    /** Tasks that must be done before it begins. */
    after: z.array(z.string()),
    /** What its tool results asked to be kept, such as the ids of skills that were loaded. */
    retained: z.array(z.string()),
    /** Subtasks whose results it has been given. */
    received: z.array(z.string()).default([]),
    /** Its parent was given its result by an older Pith. */
    told: z.boolean().default(false),
    submitter: z.object({
      userId: z.string(),
      channelId: z.string(),
      /** The conversation it was submitted in. */
      threadId: z.string().nullable(),
      /** The agent that submitted it; null: a person on the command line. */
      agentId: z.string().nullable(),
      /** Whether its end is reported to a person; subtasks report to their parent. */
      person: z.boolean(),
      /** Of the message that led to it. */
      correlationId: z.string().nullable().default(null),
    }),
    /** `extension/tool` that it may use at most; null: all that its agent has. */
    tools: z.array(z.string()).nullable(),
    /** `extension/tool` or extension ids that it may not use, because its submitter may not. */
    denied: z.array(z.string()).default([]),
    /** Extensions outside the kernel from which its submitter's turn comes. */
    startedBy: z.array(z.object({ extensionId: z.string(), ownOnly: z.boolean() })).default([]),
    /** The job that works on it, or did last; null: none has yet. */
    job: z.string().nullable().default(null),
    createdAt: z.int(),
    updatedAt: z.int(),
  }),
);

export type Task = z.infer<ReturnType<typeof taskSchema>>;

const ENDED: ReadonlySet<TaskState> = new Set(['done', 'failed', 'cancelled']);

export function hasEnded({ state }: Pick<Task, 'state'>): boolean {
  return ENDED.has(state);
}

const THREAD = /^tasks\/([a-z0-9]{10})(\/|$)/;

/** The conversation in which a task is worked on. */
export function threadOf(taskId: string): string {
  return `tasks/${taskId}`;
}

/** The task that is worked on in a thread, or in a thread that was called from it; null for other threads. */
export function taskOfThread(threadId: string): string | null {
  return THREAD.exec(threadId)?.[1] ?? null;
}
