import type { Hold, JobFilter, ScheduleRow } from './port.ts';
import type { JobRow, State } from './row.ts';

/** What a query for jobs that may start leaves out. */
export interface Except {
  readonly lanes: readonly string[];
  readonly owners: readonly string[];
  /** Rows of a newer version are another process's. */
  readonly newerThan: number;
  /** Ticks that catch up. */
  readonly late: boolean;
}

/**
 * The tables of one store within a transaction; calls are synchronous. Queries for jobs that may start see rows with `ready`, without those
 * `inside` another, the most urgent first and then the oldest.
 */
export interface JobRows {
  get(id: string): JobRow | null;
  /** Writes a new row, or over the one with its id. */
  put(row: JobRow): void;
  delete(id: string): void;
  /** A number greater than all before, for what is committed now. */
  nextNumber(): number;
  openUnique(name: string, unique: string): JobRow | null;
  /** Whether that row waits to be started, or was resumed early: asked by each durable event; reading the row would double its cost. */
  isExpected(name: string, unique: string): boolean;
  /** Of a sequence: the oldest row that is waiting, failed, running or suspended, and whether any is running or suspended. */
  sequence(name: string, sequence: string): { readonly first: JobRow | null; readonly isBusy: boolean };
  /** The row of a sequence that is `ready`. */
  readyOfSequence(name: string, sequence: string): JobRow | null;
  /** Open rows of a parent, or only those `inside` it, that were not asked to end. */
  openChildren(parent: string, inside: boolean, limit: number): readonly JobRow[];

  /**
   * What has run out: leases of other holders, graces of those that were asked to end, and waits until a time; and rows that have ended
   * before all that ends with them. At most `limit` of each. A row
   * may be in it twice.
   */
  overdue(now: number, holder: string, graceMs: number, limit: number): readonly JobRow[];
  /** The earliest moment at which `overdue` has a row; null: none. */
  next(holder: string, graceMs: number): number | null;
  /** Names that have ready rows, those `inside` another too. */
  readyNames(): readonly string[];

  /** Without those in a slot of their parent. */
  running(
    name: string,
  ): readonly Pick<JobRow, 'id' | 'lane' | 'owner' | 'priority' | 'preemptible' | 'begun' | 'stop' | 'lost' | 'late' | 'number'>[];
  /** How many ticks that catch up run, of all names. */
  lateRunning(): number;
  /** `lanes`: also those in lanes. */
  ready(name: string, lanes: boolean, except: Except, limit: number): readonly JobRow[];
  /** The first ready row of a name that was lost so often that it runs alone. */
  readyAlone(name: string, fromLosses: number, except: Except): JobRow | null;
  /** Ready rows inside one that is running or suspended. */
  readyInside(name: string, except: Except, limit: number): readonly JobRow[];
  /** Lanes of a name that have ready rows. */
  readyLanes(name: string): readonly string[];
  heads(lane: { readonly name: string; readonly lane: string }, perOwner: number, except: Except): readonly JobRow[];
  /** Open rows of a lane with a promise. */
  promised(name: string, lane: string): readonly JobRow[];
  /** The turn at which each of the last `MOST_SERVED` owners of a lane was served. */
  served(name: string, lane: string): ReadonlyMap<string | null, number>;
  serve(name: string, lane: string, owner: string | null): void;

  /** Replaces what a row waits for. */
  setWaits(waiter: string, targets: readonly string[]): void;
  /** Removes the waits for a target, and gives those who wait for nothing any more. */
  endWaits(target: string): readonly string[];

  addNote(id: string, at: number, data: string, most: number): void;
  notes(id: string): readonly { readonly at: number; readonly data: string }[];
  list(filter: JobFilter): readonly JobRow[];
  count(filter: Omit<JobFilter, 'limit'>): number;
  changesSince(number: number, limit: number): { readonly number: number; readonly ids: readonly string[] };
  holds(): readonly Hold[];
  putHold(hold: Hold): void;
  removeHold(kind: Hold['kind'], value: string): void;
  schedules(): readonly ScheduleRow[];
  putSchedule(schedule: ScheduleRow): void;
  removeSchedule(id: string): void;
  /** Of a state, ended before; `seen` null: both. Oldest first. */
  endedBefore(before: number, state: State, seen: boolean | null, limit: number): readonly string[];
  /** Leases later than `lease` end then; retries later than `retry` are due at once; who was asked to end later than now was asked now. */
  shorten(now: number, latest: { readonly lease: number; readonly retry: number }): void;
}

/** More owners of a lane are not remembered: the others count as never served. */
export const MOST_SERVED = 1_000;

/** The most urgent first, then the oldest. */
export function byUrgency(one: Pick<JobRow, 'priority' | 'number'>, other: Pick<JobRow, 'priority' | 'number'>): number {
  return other.priority - one.priority || one.number - other.number;
}

/** Runs work on the rows: writes are one transaction, on disk when the promise resolves. */
export interface JobTables {
  read<T>(look: (rows: JobRows) => T): Promise<T>;
  write<T>(change: (rows: JobRows) => T): Promise<T>;
  /** A number that changes with each write of another process. */
  revision(): Promise<number>;
}
