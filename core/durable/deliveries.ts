import { type Clock, type Logger, messageOf } from '../contract/index.ts';
import type { Leases } from '../store/index.ts';
import { LONGEST_MS } from './delivery-queue.ts';
import type { DeliveryRows, Journal } from './journal.ts';
import { Worker, type WorkerOptions } from './worker.ts';

export interface DeliveriesOptions {
  readonly journal: { readonly events: Journal; readonly deliveries: DeliveryRows };
  readonly leases: Leases;
  readonly clock: Clock;
  readonly logger: Logger;
  /** All declared handlers. */
  declared(): ReadonlySet<string>;
  /** The handlers that can be called in this process now. */
  callable(): ReadonlySet<string>;
  readonly sideBySide: WorkerOptions['sideBySide'];
  readonly call: WorkerOptions['call'];
  /** Called at each poll, at least once a second. */
  looked?(): void;
}

/** The poll interval: writes of another process are seen within a second. */
const LOOK_MS = 800;
const TIDY_MS = 3_600_000;
const FIRST_TIDY_MS = 60_000;
const DAY_MS = 86_400_000;
export const KEEP_EVENTS_MS = 30 * DAY_MS;
export const KEEP_GONE_MS = 7 * DAY_MS;

/** Processes deliveries from `start` to `stop`. */
export function createDeliveries(options: DeliveriesOptions) {
  const { clock, logger } = options;
  const { events, deliveries: rows } = options.journal;
  const workers = new Map<string, Worker>();
  const closing = new Set<Promise<void>>();
  let running = false;
  let version = -1;
  let tidied = 0;
  /** When the last poll was; initially Infinity, since an earlier process may have had a later clock. */
  let lookedAt = Infinity;
  let cancel: (() => void) | undefined;

  /** Call when handlers may have come or gone. */
  function refresh(): void {
    if (!running) return;
    const callable = options.callable();
    for (const [handler, worker] of workers) {
      if (callable.has(handler)) continue;
      workers.delete(handler);
      close(worker, 0);
    }
    for (const handler of callable) {
      if (workers.has(handler)) continue;
      const worker = new Worker({ ...options, handler, events, rows });
      workers.set(handler, worker);
      worker.wake();
    }
  }

  function close(worker: Worker, graceMs: number): void {
    const closed = worker.stop(graceMs).finally(() => closing.delete(closed));
    closing.add(closed);
  }

  async function look(): Promise<void> {
    const now = clock.now();
    if (now < lookedAt) advance(now);
    lookedAt = now;
    try {
      const seen = await events.revision();
      if (!running) return;
      const changed = seen !== version;
      version = seen;
      for (const worker of workers.values())
        if (changed || worker.contended || (worker.nextDue !== null && worker.nextDue <= now)) worker.wake();
      options.looked?.();
      if (Math.abs(now - tidied) >= TIDY_MS) tidy(now);
    } catch (error) {
      logger.warn('the journal could not be read', { error: messageOf(error) });
    }
    if (running) cancel = clock.after(LOOK_MS, () => void look());
  }

  function advance(now: number): void {
    rows.advance(now, now + LONGEST_MS).then(
      () => workers.forEach((worker) => worker.wake()),
      (error: unknown) => logger.warn('deliveries that failed wait for the former clock', { error: messageOf(error) }),
    );
  }

  function tidy(now: number): void {
    tidied = now;
    const times = { now, goneBefore: now - KEEP_GONE_MS, eventsBefore: now - KEEP_EVENTS_MS };
    events
      .tidy(options.declared(), times)
      .catch((error: unknown) => logger.warn('the journal could not be tidied', { error: messageOf(error) }));
  }

  return {
    start(): void {
      if (running) return;
      running = true;
      tidied = clock.now() - TIDY_MS + FIRST_TIDY_MS;
      refresh();
      void look();
    },
    /** Looks for work for these handlers, or for all. */
    wake(handlers: Iterable<string> = workers.keys()): void {
      for (const handler of handlers) workers.get(handler)?.wake();
    },
    refresh,
    /** Waits up to `graceMs` for running deliveries, then aborts them; they are delivered again later. */
    async stop(graceMs: number): Promise<void> {
      running = false;
      cancel?.();
      for (const worker of workers.values()) close(worker, graceMs);
      workers.clear();
      await Promise.all(closing);
    },
  };
}
