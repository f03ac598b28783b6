import {
  type Command,
  type CommandProvider,
  type Delivery,
  type Diagnostic,
  type ExtensionContext,
  type Tool,
  type ToolProvider,
  type TopicMap,
  z,
} from 'pith';
import { scheduleChanged } from './contract.ts';
import { scheduleCommands } from './commands.ts';
import { Runner } from './runner.ts';
import { runOf } from './schedule.ts';
import { ScheduleStore } from './schedule-store.ts';
import { scheduleTools } from './tools.ts';

/** Lets agents schedule later work. */
export default class Scheduler implements ToolProvider, CommandProvider {
  static readonly config = z.strictObject({});

  readonly #context: ExtensionContext;
  readonly #store: ScheduleStore;
  readonly #runner: Runner;

  constructor(context: ExtensionContext) {
    const { database, jobs, clock, events } = context;
    const store = new ScheduleStore(database, jobs, clock, ({ id, by }) =>
      events.publish(scheduleChanged, { scheduleId: id, userId: by.user }),
    );
    this.#context = context;
    this.#store = store;
    this.#runner = new Runner(context, store);
  }

  getTools(): readonly Tool[] {
    return scheduleTools(this.#store, this.#context);
  }

  getCommands(): readonly Command[] {
    return scheduleCommands(this.#store, this.#context);
  }

  async findings(): Promise<readonly Diagnostic[]> {
    return (await this.#store.damaged()).map((id) => ({
      severity: 'error',
      code: 'database_failed',
      message: `schedule '${id}' never runs: its row in the database is damaged`,
      cure: 'schedule it again',
    }));
  }

  /** Handles `schedule.due`, which version 1.0 published for what it had planned or begun. */
  due(): Promise<void> {
    return this.#store.adopt();
  }

  /** Handles `approval.answered`. */
  async answered({ threadId }: TopicMap['approval.answered'], { correlationId }: Delivery): Promise<void> {
    const run = runOf(threadId);
    if (run !== null) await this.#runner.continueRun(run.id, run.at, correlationId);
  }
}
