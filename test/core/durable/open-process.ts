/** Journal and deliveries alone: several kernels over one sandbox would share them as here, but none of them could be killed or held up at a statement. */
import path from 'node:path';
import type { Clock, Delivery, JsonValue, Logger } from 'pith';
import { createDeliveries, createJournal, type Journal, Jobs, type KernelJobs } from '../../../core/durable/index.ts';
import type { JobHandlers } from '../../../core/kernel/index.ts';
import { createLeases, createOwner, openStore, sqliteLeaseRows } from '../../../core/store/index.ts';

export type Handle = (payload: JsonValue, delivery: Omit<Delivery, 'signal'>, signal: AbortSignal) => Promise<void> | void;
export type DeclaredSchedule = ReturnType<JobHandlers['schedules']>[number];

/** No extension has jobs. */
const NONE: JobHandlers = {
  declared: () => new Map(),
  schedules: () => [],
  unread: () => new Set(),
  callable: () => new Set(),
  policies: () => new Map(),
  load: async () => undefined,
  call: () => Promise.reject(new Error('there are none')),
  notify: async () => undefined,
};

export interface NodeOptions {
  /** Which events each handler is for; default all. */
  readonly topics?: Readonly<Record<string, readonly string[]>>;
  readonly schedules?: () => readonly DeclaredSchedule[];
}

/** One process's journal and deliveries over a folder; several share it. */
export function openProcess(
  folder: string,
  clock: Clock,
  handlers: Readonly<Record<string, Handle>>,
  { topics = {}, schedules: declared = () => [] }: NodeOptions = {},
) {
  const store = openStore(path.join(folder, 'pith.db'), clock);
  const lines: string[] = [];
  const log = (message: string) => void lines.push(message);
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const names = new Set(Object.keys(handlers));
  const journal: Journal = createJournal({
    store,
    clock,
    handlers: (topic) => [...names].filter((name) => topics[name]?.includes(topic) ?? true),
    written({ handlers }) {
      deliveries.wake(handlers);
      service.wake();
    },
  });
  const deliveries = createDeliveries({
    rows: journal.deliveries,
    leases: createLeases(sqliteLeaseRows(store, clock), clock, createOwner()),
    clock,
    logger,
    declared: () => names,
    callable: () => names,
    sideBySide: () => 16,
    call: async (handler, { payload }, delivery, signal) => handlers[handler]?.(payload, delivery, signal),
  });
  const kernel: KernelJobs = {
    jobs: () => new Map([journal.tickJob, ...deliveries.jobs()]),
    changed: () => deliveries.wake(),
    repair: deliveries.repair,
    tidy: () => deliveries.tidy(),
  };
  const service = new Jobs({ store, clock, logger, handlers: { ...NONE, schedules: declared }, kernel });
  const start = () => {
    service.start();
    void journal.endFormer(declared());
  };
  let killed = false;
  const stop = () => service.stop();
  const close = async () => {
    if (!killed) await stop();
    await store.close();
  };
  /** Nothing is renewed, released or finished any more. */
  const kill = () => {
    killed = true;
    store.write = () => new Promise(() => undefined);
  };
  return { store, journal, logger, lines, start, refresh: () => service.refresh(), stop, kill, close };
}
