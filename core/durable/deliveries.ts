import { messageOf } from '../contract/index.ts';
import { type HandlerEnd, Postponed } from '../kernel/index.ts';
import type { Leases } from '../store/index.ts';
import { Delivering, type DeliveringOptions } from './delivering.ts';
import { type Attempt, DONE, type KernelJob, kernelJob, LONGEST_RETRY_MS } from './jobs/index.ts';
import { deliveryJob } from './sqlite-deliveries.ts';

export interface DeliveriesOptions extends DeliveringOptions {
  readonly leases: Pick<Leases, 'acquire' | 'isHeld'>;
  /** All declared handlers. */
  declared(): ReadonlySet<string>;
}

const LEASE_MS = 3_000;
const FORMER_LEASE_MS = 15_000;

/** Works on deliveries: those of a handler are one job, which is open while there are some. */
export function createDeliveries(options: DeliveriesOptions) {
  const { clock, logger, rows, leases } = options;
  const working = new Map<string, Delivering>();

  async function deliver(handler: string, attempt: Attempt, signal: AbortSignal): Promise<HandlerEnd> {
    const now = clock.now();
    const next = rows.isDue(handler, now) ? await deliverDue(handler, attempt, signal) : rows.next(handler, now);
    if (next === null && (await rows.end(handler, attempt))) return DONE;
    return { kind: 'wait', wait: { resume: true, until: next ?? clock.now() } };
  }

  /**
   * Holds the lease by which an older Pith works on deliveries, until all that it began has ended: nobody begins what may still run here,
   * also where this process has lost the job or is stopping.
   */
  async function deliverDue(handler: string, attempt: Attempt, signal: AbortSignal): Promise<number | null> {
    const name = `handler ${handler}`;
    const lease = (await leases.isHeld(name, FORMER_LEASE_MS)) ? null : await leases.acquire(name, LEASE_MS);
    if (lease === null) throw new Postponed('others still deliver to the handler');
    const delivering = new Delivering(options, { ...attempt, handler, isCounted: lease.inherited }, signal);
    working.set(handler, delivering);
    try {
      return await delivering.work();
    } finally {
      working.delete(handler);
      await lease
        .release()
        .catch((error: unknown) => logger.warn(`the lease of ${handler} was not given back`, { error: messageOf(error) }));
    }
  }

  return {
    /** The jobs of handlers that can be called now, by name. */
    jobs: (): readonly (readonly [string, KernelJob])[] =>
      [...options.callable()].map((handler) =>
        kernelJob(deliveryJob(handler), 1, ({ id, fence }, signal) => deliver(handler, { id, fence }, signal)),
      ),
    /** Has work that is going on look for more: for these handlers, or for all. */
    wake(handlers: Iterable<string> = working.keys()): void {
      for (const handler of handlers) working.get(handler)?.wake();
    },
    repair: () => rows.repair(clock.now(), clock.now() + LONGEST_RETRY_MS),
    async tidy(): Promise<void> {
      await rows.tidy(options.declared(), clock.now());
      await this.repair(); // an older Pith that has ended left deliveries without jobs
    },
  };
}
