/** Journal and deliveries alone: several kernels over one sandbox would share them as here, but none of them could be killed or held up at a statement. */
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { defineTopic, type Clock, type Delivery, type JsonValue, type Logger } from 'pith';
import { createDeliveries, createSqliteJournal, type SqliteJournal } from '../../../core/durable/index.ts';
import { createLeases, createOwner, openStore, sqliteLeaseRows } from '../../../core/store/index.ts';

export type Handle = (payload: JsonValue, delivery: Omit<Delivery, 'signal'>, signal: AbortSignal) => Promise<void> | void;

export type Node = ReturnType<typeof openNode>;

/** One process's journal and deliveries over a folder, which end with the test; several share it. `topics`: which events each handler is for. */
export function openNode(
  folder: string,
  clock: Clock,
  handlers: Readonly<Record<string, Handle>>,
  topics: Readonly<Record<string, readonly string[]>> = {},
) {
  const store = openStore(path.join(folder, 'pith.db'), clock);
  const lines: string[] = [];
  const log = (message: string) => void lines.push(message);
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const names = Object.keys(handlers);
  const journal: SqliteJournal = createSqliteJournal({
    store,
    clock,
    handlers: (topic) => names.filter((name) => topics[name]?.includes(topic) ?? true),
    written: ({ handlers }) => deliveries.wake(handlers),
  });
  const deliveries: ReturnType<typeof createDeliveries> = createDeliveries({
    journal,
    leases: createLeases(sqliteLeaseRows(store, clock), clock, createOwner()),
    clock,
    logger,
    declared: () => new Set(names),
    callable: () => new Set(names),
    sideBySide: undefined,
    call: async (handler, payload, delivery, signal) => handlers[handler]?.(payload, delivery, signal),
  });
  let killed = false;
  const close = async () => {
    if (!killed) await deliveries.stop(0);
    await store.close();
  };
  onTestFinished(close);
  /** Nothing is renewed, released or finished any more. */
  const kill = () => {
    killed = true;
    store.write = () => new Promise(() => undefined);
  };
  return { store, journal, deliveries, lines, kill, close };
}

export const taskChanged = defineTopic<ReturnType<typeof task>>('task.changed', { durable: true });

export function task(id: string, note: string | null = null) {
  return { v: 1, taskId: id, state: 'running', goal: '', threadId: null, note } as const;
}
