import { PithError, type AgentSpec, type Clock, type TurnInfo, type TurnPolicy } from 'pith';
import { didYouMean } from '@pith/plain-text';
import { hasEnded, taskOfThread, type Task } from './task.ts';
import type { TaskStore } from './task-store.ts';
import type { Tasks } from './waiting.ts';

/** What is asked for. */
export interface Wanted {
  readonly id: string;
  readonly goal: string;
  readonly agentId: string;
  readonly priority?: number | undefined;
  readonly after?: readonly string[] | undefined;
  readonly maxSteps?: number | undefined;
  readonly chain?: string | null;
}

/** Who asks: a turn, or a person on the command line. */
export interface Submitter {
  readonly userId: string;
  readonly channelId: string;
  readonly threadId: string | null;
  readonly agent: AgentSpec | null;
  /** The task that is worked on by the turn which asks. */
  readonly parent: Task | null;
  readonly tools: readonly string[] | null;
  /** What its turn was denied stays denied, whichever agent works on the task. */
  readonly denied: readonly string[];
  /** Extensions outside the kernel from which its turn comes: what they may not have, the task has not either. */
  readonly startedBy: NonNullable<TurnPolicy['startedBy']>;
  readonly correlationId: string | null;
}

/** How deep subtasks go below a task that a person submitted. */
export const MOST_DEPTH = 3;
export const MOST_SUBTASKS = 20;

export async function submitterOf(store: TaskStore, turn: TurnInfo): Promise<Submitter> {
  const { agent, userId, channelId, threadId, tools, policy, correlationId } = turn;
  const parent = await workedOn(store, turn);
  const { denyTools: denied = [], startedBy = [] } = policy ?? {};
  return { userId, channelId, threadId, agent, parent, tools, denied, startedBy, correlationId };
}

/** The task that this turn, or the one that called it, works on; null in a conversation. */
export async function workedOn(store: TaskStore, { threadId }: Pick<TurnInfo, 'threadId'>): Promise<Task | null> {
  const id = taskOfThread(threadId);
  const task = id === null ? null : await store.load(id);
  return task?.state === 'running' ? task : null;
}

/** Writes the tasks, all or none. Those that are there already, under the same id, are left as they are. Throws what is wrong. */
export async function submit(
  { store, clock, maxOpen }: { readonly store: TaskStore; readonly clock: Clock; readonly maxOpen: number },
  wanted: readonly Wanted[],
  by: Submitter,
  agents: readonly AgentSpec[],
): Promise<readonly Task[]> {
  for (const { agentId } of wanted) refuseAgent(agentId, by.agent, agents);
  return store.write(async (tasks) => {
    const there = new Map((await store.loadAll(wanted.map(({ id }) => id))).map((task) => [task.id, task]));
    const missing = wanted.filter(({ id }) => !there.has(id));
    if (missing.length > 0) await refuseTooMany(store, missing.length, maxOpen, by.parent);
    const parent = by.parent && (await tasks.load(by.parent.id));
    if (parent && hasEnded(parent))
      throw new PithError('task_state', `task ${parent.id}: it is ${parent.state}, and gets no more subtasks`);
    for (const each of missing) {
      const after = [...new Set(each.after ?? [])];
      const before = await Promise.all(after.map(async (id) => there.get(id) ?? awaited(store, tasks, id, by)));
      const task = taskOf(each, { after, state: before.every(({ state }) => state === 'done') ? 'pending' : 'blocked' }, by, clock.now());
      tasks.insert(task, { unfinished: maxOpen, subtasks: MOST_SUBTASKS });
      there.set(task.id, task);
    }
    return wanted.map(({ id }) => there.get(id) as Task);
  });
}

/** Only what the submitter could hand work to itself: authority comes from declarations. */
function refuseAgent(agentId: string, by: AgentSpec | null, agents: readonly AgentSpec[]): void {
  if (!agents.some(({ id }) => id === agentId))
    throw new PithError(
      'agent_unknown',
      `there is no agent '${agentId}' that can run${didYouMean(
        agentId,
        agents.map(({ id }) => id),
      )}`,
    );
  if (by === null || agentId === by.id || by.delegatesTo.includes('*') || by.delegatesTo.includes(agentId)) return;
  const may = [by.id, ...by.delegatesTo].join(', ');
  throw new PithError('not_allowed', `'${by.id}' may not hand tasks to '${agentId}'; it may to ${may}`, {
    cure: `name one of these, or add '${agentId}' to delegates_to of '${by.id}'`,
  });
}

async function refuseTooMany(store: TaskStore, more: number, maxOpen: number, parent: Task | null): Promise<void> {
  if ((await store.unfinished()) + more > maxOpen)
    throw new PithError('queue_full', `${maxOpen} tasks are unfinished already`, { cure: 'wait until some have ended, or cancel some' });
  if (parent === null) return;
  if (parent.depth >= MOST_DEPTH)
    throw new PithError('limit_reached', `subtasks go ${MOST_DEPTH} deep at most`, { cure: 'do the work in this task' });
  if ((await store.subtasks(parent.id)).length + more > MOST_SUBTASKS)
    throw new PithError('limit_reached', `a task has ${MOST_SUBTASKS} subtasks at most`, { cure: 'do the rest in this task' });
}

async function awaited(store: TaskStore, tasks: Tasks, id: string, by: Submitter): Promise<Task> {
  const task = await tasks.load(id);
  if (task === null || task.submitter.userId !== by.userId)
    throw new PithError('task_unknown', `there is no task '${id}' to wait for${didYouMean(id, await store.ids())}`);
  if (hasEnded(task) && task.state !== 'done')
    throw new PithError('dependency_failed', `task '${id}' is ${task.state}, so nothing can wait for it`, { cure: `retry it first` });
  if (by.parent !== null && (await isAbove(store, id, by.parent)))
    throw new PithError('dependency_cycle', `task '${id}' waits for this one`, { cure: 'leave it out of after' });
  return task;
}

/** A subtask that waited for its own parent would wait for ever. */
async function isAbove(store: TaskStore, id: string, task: Task): Promise<boolean> {
  for (let each: Task | null = task; each !== null; each = each.parent === null ? null : await store.load(each.parent)) {
    if (each.id === id) return true;
  }
  return false;
}

function taskOf(wanted: Wanted, { after, state }: Pick<Task, 'after' | 'state'>, by: Submitter, now: number): Task {
  const itself = by.agent !== null && by.agent.id === wanted.agentId;
  return {
    id: wanted.id,
    goal: wanted.goal,
    agent: wanted.agentId,
    state,
    note: state === 'blocked' ? `waits for ${after.join(', ')}` : null,
    priority: wanted.priority ?? by.parent?.priority ?? 0,
    maxSteps: wanted.maxSteps ?? null,
    stepsBefore: 0,
    steps: 0,
    attempts: 0,
    turn: 0,
    message: null,
    waitMs: null,
    completed: null,
    result: null,
    error: null,
    question: null,
    parent: by.parent?.id ?? null,
    depth: by.parent === null ? 0 : by.parent.depth + 1,
    chain: wanted.chain ?? null,
    after: [...after],
    retained: [],
    received: [],
    told: false,
    submitter: {
      userId: by.userId,
      channelId: by.channelId,
      threadId: by.parent?.submitter.threadId ?? by.threadId,
      agentId: by.agent?.id ?? null,
      person: by.parent === null,
      correlationId: by.correlationId,
    },
    // A declared agent runs with its own tools whoever calls it; the same agent gets no more than it has here.
    tools: itself && by.tools !== null ? [...by.tools] : null,
    denied: [...by.denied],
    startedBy: [...by.startedBy],
    job: null,
    createdAt: now,
    updatedAt: now,
  };
}
