import { type AgentSpec, type ExtensionContext, PithError, type TurnInfo, type TurnPolicy } from 'pith';
import { didYouMean } from '@pith/plain-text';
import { hasEnded, type Task, taskOfThread } from './task.ts';
import type { TaskStore } from './task-store.ts';
import { awaitsApproval, type TaskEvent } from './transitions.ts';
import type { Worker } from './worker.ts';
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
const MOST_DEPTH = 3;
const MOST_SUBTASKS = 20;

/** What people and agents may do with tasks, the same from a tool, a slash command and the command line. Throws `PithError`. */
export class TaskService {
  constructor(
    readonly store: TaskStore,
    private readonly worker: Pick<Worker, 'jobOf'>,
    private readonly context: Pick<ExtensionContext, 'agents' | 'clock'>,
    private readonly maxOpen: number,
  ) {}

  /** Writes the tasks, all or none. Those that are there already, under the same id, are left as they are. Rejects with what is wrong. */
  async submit(wanted: readonly Wanted[], by: Submitter): Promise<readonly Task[]> {
    const { store, maxOpen } = this;
    const { clock } = this.context;
    const agents = await this.context.agents.list();
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

  /** Throws `task_unknown`, also for tasks of another user. */
  async find(id: string, userId: string | null): Promise<Task> {
    const task = await this.store.load(id);
    if (task && (userId === null || task.submitter.userId === userId)) return task;
    const known = await idsSeenBy(this.store, userId);
    throw new PithError('task_unknown', `there is no task '${id}'${didYouMean(id, known)}`, {
      cure: 'see: pith tasks list',
    });
  }

  /** Takes its subtasks with it; what waits for it is cancelled too. */
  async cancel(task: Task, why: string): Promise<Task> {
    if (hasEnded(task)) throw refused(task, 'it has ended', 'there is nothing to cancel');
    return this.change(task, { type: 'cancelled', why });
  }

  /** Also those that were cancelled because they waited for it. */
  async retry(task: Task): Promise<Task> {
    if (task.state === 'done') throw refused(task, 'it is done', 'submit a new task');
    if (!hasEnded(task) && task.state !== 'retry_scheduled') throw refused(task, `it is ${task.state}`, 'wait, or cancel it first');
    const again = await this.store.write(async (tasks) => {
      const before = await Promise.all(task.after.map((id) => tasks.load(id)));
      const after = await tasks.change(task.id, { type: 'retried', blocked: before.some((each) => each?.state !== 'done') });
      await revive(tasks, task.id);
      return after;
    });
    return again ?? (await this.find(task.id, null));
  }

  /** A person's answer to what the worker asked. */
  async review(task: Task, answer: string): Promise<Task> {
    if (task.state !== 'human_review') throw refused(task, `it is ${task.state} and asks nothing`, 'see: pith tasks list');
    if (awaitsApproval(task)) throw refused(task, 'a tool call waits for approval, not for an answer', 'see: pith approvals');
    return this.change(task, { type: 'reviewed', answer });
  }

  /** `byWorker`: whoever works on the task says it, and counts only while it is theirs. */
  async change(task: Task, event: TaskEvent, byWorker = false): Promise<Task> {
    const job = byWorker ? this.worker.jobOf(task.id) : undefined;
    const after = await this.store.write((tasks) => tasks.change(task.id, event), job);
    if (after) return after;
    const now = await this.find(task.id, null);
    throw refused(now, `it is ${now.state} by now`, `see: pith tasks show ${now.id}`);
  }
}

async function revive(tasks: Tasks, id: string): Promise<void> {
  for (const { id: waiting, state, error } of await tasks.waitingFor(id)) {
    if (state !== 'cancelled' || error?.code !== 'dependency_failed') continue;
    await tasks.change(waiting, { type: 'retried', blocked: true });
    await revive(tasks, waiting);
  }
}

function refused({ id }: Task, why: string, cure: string): PithError {
  return new PithError('task_state', `task ${id}: ${why}`, { cure });
}

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

/** Only what the submitter could hand work to itself: authority comes from declarations. */
function refuseAgent(agentId: string, by: AgentSpec | null, agents: readonly AgentSpec[]): void {
  if (!agents.some(({ id }) => id === agentId))
    throw new PithError(
      'agent_unknown',
      `there is no agent '${agentId}' that can run${didYouMean(
        agentId,
        agents.map(({ id }) => id),
      )}`,
      { cure: 'see: pith agents list' },
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

/** Newest first; null: those of all users. */
async function idsSeenBy(store: TaskStore, userId: string | null): Promise<readonly string[]> {
  return userId === null ? store.ids() : (await store.list(MOST_GUESSED, { userId })).map(({ id }) => id);
}

const MOST_GUESSED = 1000;

async function awaited(store: TaskStore, tasks: Tasks, id: string, by: Submitter): Promise<Task> {
  const task = await tasks.load(id);
  if (task === null || task.submitter.userId !== by.userId) {
    const known = await idsSeenBy(store, by.userId);
    throw new PithError('task_unknown', `there is no task '${id}' to wait for${didYouMean(id, known)}`, { cure: 'see: pith tasks list' });
  }
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
