import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { defineTopic, type Clock, type Delivery, type JsonValue, type Logger } from 'pith';
import { createDeliveries, createSqliteJournal, type Deliveries, type SqliteJournal } from '../../../core/durable/index.ts';
import { createLeases, createOwner, openStore, sqliteLeaseRows, type Store } from '../../../core/store/index.ts';

export type Handle = (payload: JsonValue, delivery: Omit<Delivery, 'signal'>, signal: AbortSignal) => Promise<void> | void;

export interface Node {
  readonly store: Store;
  readonly journal: SqliteJournal;
  readonly deliveries: Deliveries;
  readonly lines: string[];
  close(): Promise<void>;
}

export async function temporaryFolder(): Promise<{ readonly folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'pith-events-'));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** One process's journal and deliveries over a folder; several share it. `topics`: which events each handler is for. */
export function openNode(
  folder: string,
  clock: Clock,
  handlers: Readonly<Record<string, Handle>>,
  topics: Readonly<Record<string, readonly string[]>> = {},
): Node {
  const store = openStore(path.join(folder, 'pith.db'), clock);
  const lines: string[] = [];
  const log = (message: string) => void lines.push(message);
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const names = Object.keys(handlers);
  const journal: SqliteJournal = createSqliteJournal({
    store,
    clock,
    handlers: (topic) => names.filter((name) => topics[name]?.includes(topic) ?? true),
    written: (events) => deliveries.wake(new Set(events.flatMap((event) => event.handlers))),
  });
  const deliveries = createDeliveries({
    journal,
    leases: createLeases(sqliteLeaseRows(store, clock), clock, createOwner()),
    clock,
    logger,
    declared: () => new Set(names),
    callable: () => new Set(names),
    sideBySide: undefined,
    call: async (handler, payload, delivery, signal) => handlers[handler]?.(payload, delivery, signal),
  });
  return {
    store,
    journal,
    deliveries,
    lines,
    async close() {
      await deliveries.stop(0);
      await store.close();
    },
  };
}

export const taskChanged = defineTopic<ReturnType<typeof task>>('task.changed', { durable: true });

export function task(id: string, note: string | null = null) {
  return { v: 1, taskId: id, state: 'running', goal: '', threadId: null, note } as const;
}
