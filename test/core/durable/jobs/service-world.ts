/** Services of jobs over one store, as several processes would have them; their handlers are the test's. */
import { onTestFinished } from 'vitest';
import type { JobInfo, JsonValue, Logger } from 'pith';
import { type FakeClock, fakeClock } from 'pith/testing';
import {
  createJobStore,
  type HandlerEnd,
  type JobCall,
  JobService,
  type JobDeclaration,
  type JobStore,
  type LanePolicy,
  type NewJob,
} from '../../../../core/durable/index.ts';
import { declared, newJob } from './new-job.ts';
import { openStore } from '../../../../core/store/index.ts';
import { folderWith } from '../../../places.ts';
import path from 'node:path';

export type Handler = (job: JobCall, signal: AbortSignal) => Promise<HandlerEnd | JsonValue | void>;

export interface ProcessOptions {
  readonly jobs?: readonly JobDeclaration[];
  readonly policies?: ReadonlyMap<string, LanePolicy>;
  readonly load?: (name: string) => Promise<void>;
  readonly notify?: (name: string, job: JobInfo, signal: AbortSignal) => Promise<void>;
  /** Another clock than that of the store. */
  readonly clock?: FakeClock;
  readonly over?: (store: JobStore) => JobStore;
}

export interface World {
  readonly clock: FakeClock;
  readonly store: JobStore;
  /** A process over the same store, started; it stops with the test. */
  process(handlers: Readonly<Record<string, Handler>>, options?: ProcessOptions): Process;
  /** One that was not started. */
  idle: World['process'];
  /** Lets `ms` pass, and what that starts go on. */
  pass(ms: number): Promise<void>;
}

export interface Process {
  readonly service: JobService;
  readonly store: JobStore;
  readonly lines: string[];
  add(name: string, changes?: Partial<NewJob>): Promise<string>;
}

/** `sqlite`: each process has a connection of its own. */
export function worldOf(clock: FakeClock = fakeClock()): World {
  const file = path.join(folderWith(), 'pith.db');
  const open = (): JobStore => {
    const database = openStore(file, clock);
    onTestFinished(() => database.close());
    return createJobStore(database, clock);
  };
  return {
    clock,
    store: open(),
    process(handlers, options) {
      const process = this.idle(handlers, options);
      process.service.start();
      return process;
    },
    idle: (handlers, options = {}) => newProcess(clock, options.over?.(open()) ?? open(), handlers, options),
    async pass(ms) {
      for (let left = ms; left > 0; left -= 50) await clock.advance(Math.min(50, left));
    },
  };
}

function newProcess(clock: FakeClock, store: JobStore, handlers: Readonly<Record<string, Handler>>, options: ProcessOptions): Process {
  const lines: string[] = [];
  const log = (message: string, fields?: object) => void lines.push(fields ? `${message} ${JSON.stringify(fields)}` : message);
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const jobs = new Map((options.jobs ?? Object.keys(handlers).map((name) => declared(name))).map((job) => [job.name, job]));
  const service = new JobService({
    store,
    clock: options.clock ?? clock,
    logger,
    declared: () => jobs,
    callable: () => new Set(Object.keys(handlers)),
    policies: () => options.policies ?? new Map(),
    load: options.load ?? (async () => undefined),
    async call(name, job, signal) {
      const end = await handlers[name]?.(job, signal);
      if (typeof end === 'object' && end !== null && 'kind' in end) return end as HandlerEnd;
      return { kind: 'done', result: JSON.stringify(end ?? null) };
    },
    notify: options.notify ?? (async () => undefined),
  });
  return {
    service,
    store,
    lines,
    async add(name, changes) {
      const { id } = await store.insert(newJob(name, changes), null);
      service.wake();
      return id;
    },
  };
}
