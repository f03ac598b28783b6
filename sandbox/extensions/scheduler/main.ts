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
import { scheduleCommands } from './commands.ts';
import { ScheduleService } from './schedule-service.ts';
import { Runner } from './runner.ts';
import { ScheduleStore } from './schedule-store.ts';
import { scheduleTools } from './tools.ts';

/** Lets agents schedule later work. */
export default class Scheduler implements ToolProvider, CommandProvider {
  static readonly config = z.strictObject({});

  readonly #context: ExtensionContext;
  readonly #store: ScheduleStore;
  readonly #runner: Runner;
  readonly #service: ScheduleService;

  constructor(context: ExtensionContext) {
    const store = new ScheduleStore(context.database);
    this.#context = context;
    this.#store = store;
    this.#runner = new Runner(context, store);
    this.#service = new ScheduleService({ store, runner: this.#runner, agents: context.agents, clock: context.clock });
  }

  getTools(): readonly Tool[] {
    return scheduleTools(this.#service, this.#context.clock);
  }

  getCommands(): readonly Command[] {
    return scheduleCommands(this.#service);
  }

  async findings(): Promise<readonly Diagnostic[]> {
    return (await this.#store.damaged()).map((id) => ({
      severity: 'error',
      code: 'database_failed',
      message: `schedule '${id}' never runs: its row in the database is damaged`,
      cure: 'schedule it again',
    }));
  }

  /** Handles `schedule.due`. */
  due(payload: TopicMap['schedule.due'], delivery: Delivery): Promise<void> {
    return this.#runner.due(payload, delivery);
  }

  /** Handles the manifest's own schedule, which the kernel itself corrects when the clock was ahead. */
  correct(_payload: TopicMap['schedule.due'], { correlationId }: Delivery): Promise<void> {
    return this.#runner.correct(correlationId);
  }

  /** Handles `approval.answered`. */
  answered(payload: TopicMap['approval.answered'], delivery: Delivery): Promise<void> {
    return this.#runner.answered(payload, delivery);
  }
}
