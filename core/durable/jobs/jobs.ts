import { type Clock, type Logger, messageOf } from '../../contract/index.ts';
import type { Declaration } from '../../declarations/index.ts';
import { type HostJobs, type JobHandlers, Postponed } from '../../kernel/index.ts';
import type { Store } from '../../store/index.ts';
import { createContextJobs, declarationOf } from './context-jobs.ts';
import type { KernelJobs } from './kernel-jobs.ts';
import type { JobDeclaration } from './port.ts';
import { keepSchedules } from './manifest-schedules.ts';
import { extensionOf, isOfKernel } from './row.ts';
import { JobService } from './service.ts';
import { createJobStore, type SqliteJobStore } from './store.ts';

export interface JobsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly handlers: JobHandlers;
  readonly kernel: KernelJobs;
  /** Why an extension cannot run, with its cure; null: nothing is known against it. */
  failed?(extensionId: string): Promise<string | null>;
}

/** The jobs of a sandbox in this process. */
export class Jobs extends JobService {
  readonly #sqlite: SqliteJobStore;
  #kept = Promise.resolve();

  constructor(private readonly given: JobsOptions) {
    const { clock, logger, handlers, kernel } = given;
    const store = createJobStore(given.store, clock);
    const failureOf = (name: string) => async () => (await given.failed?.(extensionOf(name))) ?? null;
    super({
      store,
      clock,
      logger,
      kernel,
      declared: () => {
        const own = [...handlers.declared()].map(
          ([name, declared]) => [name, { ...declarationOf(name, declared), failure: failureOf(name) }] as const,
        );
        return new Map<string, JobDeclaration>([...own, ...kernel.jobs()]);
      },
      callable: () => new Set([...handlers.callable(), ...kernel.jobs().keys()]),
      policies: () => handlers.policies(),
      load: (name) => handlers.load(name),
      async call(name, job, signal) {
        if (!isOfKernel(name)) return handlers.call(name, job, signal);
        const own = kernel.jobs().get(name);
        if (own === undefined) throw new Postponed('it cannot be worked on now');
        return own.run(job, signal);
      },
      notify: (name, job, signal) => handlers.notify(name, job, signal),
    });
    this.#sqlite = store;
  }

  override start(): void {
    super.start();
    this.refresh();
  }

  override async stop(): Promise<void> {
    await Promise.all([super.stop(), this.#kept]);
  }

  /** Handlers and timetables of manifests may have come or gone. */
  refresh(): void {
    const { clock, logger, handlers } = this.given;
    this.#kept = this.#kept
      .then(() => keepSchedules(this.store, handlers, clock.now()))
      .catch((error: unknown) => logger.warn('the timetables of manifests could not be kept', { error: messageOf(error) }))
      .finally(() => this.wake());
  }

  /** `context.jobs` of an extension. */
  of(declaration: Declaration): HostJobs {
    return createContextJobs(declaration, { ...this.given, service: this, store: this.#sqlite });
  }
}
