import {
  type Command,
  type CommandProvider,
  type ContextProvider,
  type Diagnostic,
  type ExtensionContext,
  type ServiceProvider,
  type Tool,
  type ToolProvider,
  type TopicMap,
  type TurnInfo,
  z,
} from 'pith';
import { announce } from './announcer.ts';
import { taskCommands } from './commands.ts';
import { TaskService } from './task-service.ts';
import { workerText } from './messages.ts';
import { taskOfThread, threadOf } from './task.ts';
import { adopt } from './adoption.ts';
import { type Change, TaskStore } from './task-store.ts';
import { taskTools, workerTools } from './tools.ts';
import { type Work, Worker, WORKER_TOOLS } from './worker.ts';

/** Tasks: long work that agents do in the background, in steps that survive a crash. */
export default class TaskEngine implements ToolProvider, ContextProvider, ServiceProvider, CommandProvider {
  static get config() {
    return configSchema();
  }

  readonly contextPriority = 10;

  readonly #context: ExtensionContext<Config>;
  readonly #store: TaskStore;
  readonly #service: TaskService;

  constructor(context: ExtensionContext<Config>) {
    const { database, clock, events, jobs } = context;
    const { max_concurrent: mostAtOnce, max_open: maxOpen } = context.config;
    this.#context = context;
    const store = new TaskStore(database, clock, jobs);
    const worker = new Worker(store, context);
    this.#store = store;
    this.#service = new TaskService(store, worker, context, maxOpen);
    jobs.define<Work>('work', (job, signal) => worker.work(job, signal), {
      ended: (job) => worker.ended(job),
      lanes: {
        rules: () => null,
        pick: ({ heads, running }) => {
          const free = Math.max(0, mostAtOnce - running.length);
          return { start: heads.slice(0, free).map((head) => head.id), preempt: [], promised: new Map() };
        },
      },
    });
    jobs.define<Change>('announce', ({ payload }) => announce(store, events, payload));
  }

  /** Whoever works on a task can say its result, whatever else its agent lists. */
  async getTurnTools({ threadId }: TurnInfo): Promise<readonly { readonly tool: string }[]> {
    return taskOfThread(threadId) === null ? [] : WORKER_TOOLS.map((tool) => ({ tool }));
  }

  getTools(): readonly Tool[] {
    return [...taskTools(this.#service), ...workerTools(this.#service)];
  }

  /** For workers, whose thread says which task they work on. */
  async getContext(_prompt: string, { threadId, tools }: TurnInfo): Promise<string | null> {
    const taskId = taskOfThread(threadId);
    if (taskId === null || threadId !== threadOf(taskId)) return null;
    const has = (tool: string) => tools.includes(`${this.#context.id}/${tool}`);
    return workerText(taskId, has('complete_task'), has('request_human_review'));
  }

  getCommands(): readonly Command[] {
    return taskCommands(this.#context, this.#service);
  }

  async findings(): Promise<readonly Diagnostic[]> {
    return (await this.#store.damaged()).map((id) => ({
      severity: 'error',
      code: 'database_failed',
      message: `task '${id}' never runs: its row in the database is damaged`,
      cure: 'submit it again',
    }));
  }

  runBackground(signal: AbortSignal): Promise<void> {
    return adopt(this.#context, this.#store, signal);
  }

  /** Handles `approval.answered`: a task whose turn waited for it goes on. */
  async approvalAnswered({ threadId }: TopicMap['approval.answered']): Promise<void> {
    const taskId = taskOfThread(threadId);
    if (taskId === null) return;
    const [task] = await this.#store.loadAll([taskId]);
    if (task && task.job !== null) await this.#context.jobs.resume(task.job);
  }
}

/** Made when it is asked for, so that importing this file builds no schema. */
export function configSchema() {
  return z.strictObject({
    /** How many tasks are worked on at once, in all processes of the sandbox together. */
    max_concurrent: z.int().min(1).max(64).default(4),
    /** How many tasks may be unfinished; more are refused. */
    max_open: z.int().min(1).max(100_000).default(1000),
  });
}

export type Config = z.infer<ReturnType<typeof configSchema>>;
