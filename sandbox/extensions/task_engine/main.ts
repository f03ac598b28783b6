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
import { Announcer } from './announcer.ts';
import { taskCommands } from './commands.ts';
import { TaskService } from './task-service.ts';
import { Engine } from './engine.ts';
import { workerText } from './messages.ts';
import { taskOfThread, threadOf } from './task.ts';
import { TaskStore } from './task-store.ts';
import { taskTools, workerTools } from './tools.ts';
import { WORKER_TOOLS } from './worker.ts';

/** Tasks: long work that agents do in the background, in steps that survive a crash. */
export default class TaskEngine implements ToolProvider, ContextProvider, ServiceProvider, CommandProvider {
  static get config() {
    return configSchema();
  }

  readonly contextPriority = 10;

  readonly #context: ExtensionContext<Config>;
  readonly #store: TaskStore;
  readonly #engine: Engine;
  readonly #service: TaskService;

  constructor(context: ExtensionContext<Config>) {
    const { database, clock, events, agents, logger, id: extensionId } = context;
    const { max_concurrent: maxConcurrent, max_open: maxOpen } = context.config;
    this.#context = context;
    const store = new TaskStore(database, clock);
    const announcer = new Announcer(store, events);
    const engine = new Engine({ store, announcer, clock, agents, logger, extensionId, maxConcurrent });
    this.#store = store;
    this.#engine = engine;
    this.#service = new TaskService({ store, engine, agents, clock, maxOpen });
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
    await this.#store.ready();
    return (await this.#store.damaged()).map((id) => ({
      severity: 'error',
      code: 'database_failed',
      message: `task '${id}' never runs: its row in the database is damaged`,
      cure: 'submit it again',
    }));
  }

  runBackground(signal: AbortSignal): Promise<void> {
    return this.#engine.run(signal);
  }

  /** Handles `approval.answered`: a task whose turn waited for it goes on. */
  async approvalAnswered({ threadId }: TopicMap['approval.answered']): Promise<void> {
    const taskId = taskOfThread(threadId);
    if (taskId === null) return;
    await this.#store.write((tasks) => tasks.change(taskId, { type: 'approval_answered' }));
    await this.#engine.settle();
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
