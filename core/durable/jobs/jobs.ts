import { type Clock, type Logger, messageOf } from '../../contract/index.ts';
import type { Declaration } from '../../declarations/index.ts';
import { type HostJobs, type JobHandlers, Postponed } from '../../kernel/index.ts';
import type { Store } from '../../store/index.ts';
import { createContextJobs, declarationOf } from './context-jobs.ts';
import type { KernelJobs } from './kernel-jobs.ts';
import { keepSchedules, schedulesOf } from './manifest-schedules.ts';
import { isOfKernel } from './row.ts';
import { createJobService, type JobService } from './service.ts';
import { createJobStore } from './store.ts';

export interface JobsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly handlers: JobHandlers;
  readonly kernel: KernelJobs;
}

/** The jobs of a sandbox in this process. */
export interface Jobs extends JobService {
  /** Handlers and timetables of manifests may have come or gone. */
  refresh(): void;
  /** `context.jobs` of an extension. */
  of(declaration: Declaration): HostJobs;
}

export function createJobs({ store: database, clock, logger, handlers, kernel }: JobsOptions): Jobs {
  const store = createJobStore(database, clock);
  const service = createJobService({
    store,
    clock,
    logger,
    kernel,
    declared: () => {
      const own = [...handlers.declared()].map(([name, declared]) => [name, declarationOf(name, declared)] as const);
      return new Map([...own, ...kernel.jobs()]);
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
  let kept: Promise<void> = Promise.resolve();
  const refresh = (): void => {
    kept = kept
      .then(() => keepSchedules(store, [...schedulesOf(handlers), ...kernel.schedules()], handlers, clock.now()))
      .catch((error: unknown) => logger.warn('the timetables of manifests could not be kept', { error: messageOf(error) }))
      .finally(() => service.wake());
  };
  return {
    store,
    start() {
      service.start();
      refresh();
    },
    stop: async () => void (await Promise.all([service.stop(), kept])),
    refresh,
    wake: () => service.wake(),
    info: (row) => service.info(row),
    watch: (id, signal) => service.watch(id, signal),
    finished: (id, signal) => service.finished(id, signal),
    of: (declaration) => createContextJobs(declaration, { service, store, handlers, clock }),
  };
}
