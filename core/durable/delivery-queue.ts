import type { DeliveryRow, DeliveryRows } from './journal.ts';
import { Postponed } from '../kernel/index.ts';

/** After this many failures a delivery is a dead letter. */
export const MOST_ATTEMPTS = 8;

/** The most postponements of a delivery; further attempts count as failures. */
const MOST_POSTPONEMENTS = 60;

/** The most rows of one key in memory; the rest is read when these are done. */
export const MOST_OF_KEY = 64;

interface KeyQueue {
  rows: DeliveryRow[];
  /** Its first row runs. */
  busy: boolean;
  /** The event for whose next attempt the others wait. */
  heldBy: number | null;
  /** More rows are on disk than in memory. */
  overflows: boolean;
}

/** One handler's deliveries: in order within a key, keys in parallel. */
export class DeliveryQueue {
  readonly #known = new Set<number>();
  readonly #keys = new Map<string, KeyQueue>();
  readonly #ready: (DeliveryRow | string)[] = [];
  /** The used retry budget of each delivery; `settle` removes finished ones. */
  readonly #postponements = new Map<number, number>();
  /** Keys with more rows on disk, whose rows in memory are done. */
  readonly #exhausted = new Set<string>();
  /** Deliveries that were settled since a read began: the rows that it returns for them may be stale. */
  #settledMeanwhile: Set<number> | null = null;

  /** Rows in memory, running ones included. */
  get size(): number {
    return this.#known.size;
  }

  /** Unfinished deliveries that have used some of their retry budget. */
  get postponed(): number {
    return this.#postponements.size;
  }

  /** Whether an error counts as a failure of the delivery; otherwise its retry budget covers a postponement. */
  isFailure({ event }: DeliveryRow, error: unknown): boolean {
    if (!(error instanceof Postponed)) return true;
    if (error.unlimited) return false;
    const times = (this.#postponements.get(event) ?? 0) + 1;
    this.#postponements.set(event, times);
    return times > MOST_POSTPONEMENTS;
  }

  /** The key's other rows wait until this row is added again. */
  hold({ key, event }: DeliveryRow): void {
    if (key === null) return;
    const queue = this.#queueOf(key);
    queue.heldBy ??= event;
    queue.overflows = true;
  }

  add(row: DeliveryRow): void {
    if (this.#known.has(row.event)) return;
    if (row.key === null) {
      this.#known.add(row.event);
      this.#ready.push(row);
      return;
    }
    const queue = this.#queueOf(row.key);
    if (queue.heldBy === row.event) {
      queue.heldBy = null;
      queue.rows.unshift(row);
    } else if (queue.overflows || queue.rows.length >= MOST_OF_KEY) {
      queue.overflows = true;
      return;
    } else queue.rows.push(row);
    this.#known.add(row.event);
    if (!queue.busy && queue.heldBy === null && queue.rows.length === 1) this.#ready.push(row.key);
  }

  /** Adds the rows of a read. */
  async addLoaded(reading: ReturnType<DeliveryRows['load']>): ReturnType<DeliveryRows['load']> {
    const settled = (this.#settledMeanwhile = new Set());
    try {
      const { due, ready } = await reading;
      for (const row of [...due, ...ready]) if (!settled.has(row.event)) this.add(row);
      return { due, ready };
    } finally {
      this.#settledMeanwhile = null;
    }
  }

  /** Keys of which the first `MOST_OF_KEY` rows must be read, for `refill`. */
  get exhausted(): readonly string[] {
    return [...this.#exhausted];
  }

  refill(key: string, rows: readonly DeliveryRow[]): void {
    const queue = this.#queueOf(key);
    this.#exhausted.delete(key);
    queue.overflows = rows.length >= MOST_OF_KEY;
    for (const { event } of rows) this.#known.add(event);
    queue.rows.push(...rows);
    this.#goOn(key, queue);
  }

  /** The next row that may run; `settle` it afterwards. */
  take(): DeliveryRow | null {
    const next = this.#ready.shift();
    if (typeof next !== 'string') return next ?? null;
    const queue = this.#queueOf(next);
    queue.busy = true;
    return queue.rows.shift() as DeliveryRow;
  }

  /** Ends the row, or schedules another attempt (`again`), for which the others of its key wait. */
  settle(row: DeliveryRow, again: boolean): void {
    this.#known.delete(row.event);
    this.#settledMeanwhile?.add(row.event);
    if (!again) this.#postponements.delete(row.event);
    if (row.key === null) return;
    const queue = this.#queueOf(row.key);
    queue.busy = false;
    if (again) {
      for (const { event } of queue.rows.splice(0)) this.#known.delete(event);
      return this.hold(row);
    }
    if (queue.rows.length === 0 && queue.overflows) this.#exhausted.add(row.key);
    else this.#goOn(row.key, queue);
  }

  #goOn(key: string, { rows, heldBy }: KeyQueue): void {
    if (rows.length > 0) this.#ready.push(key);
    else if (heldBy === null) this.#keys.delete(key);
  }

  #queueOf(key: string): KeyQueue {
    let queue = this.#keys.get(key);
    if (queue === undefined) this.#keys.set(key, (queue = { rows: [], busy: false, heldBy: null, overflows: false }));
    return queue;
  }
}
