import type { DeliveryRow } from './delivery-rows.ts';
import { MOST_POSTPONEMENTS } from './retry.ts';
import { Postponed } from '../kernel/index.ts';

/** Rows of one key that are kept in memory; the rest is read when they are done. */
const MOST_OF_KEY = 64;

interface KeyQueue {
  rows: DeliveryRow[];
  /** Its first runs. */
  busy: boolean;
  /** The event whose next attempt the others wait for. */
  heldBy: number | null;
  /** More of it is on disk than in memory. */
  overflows: boolean;
}

/** What one handler has to do: in order within a key, keys side by side. */
export class DeliveryQueue {
  readonly #known = new Set<number>();
  readonly #keys = new Map<string, KeyQueue>();
  readonly #ready: (DeliveryRow | string)[] = [];
  /** How much of its retry budget each delivery has used; `settle` drops what ends. */
  readonly #postponements = new Map<number, number>();

  constructor(private readonly more: (key: string, limit: number) => readonly DeliveryRow[]) {}

  /** Rows in memory, those that run included. */
  get size(): number {
    return this.#known.size;
  }

  /** Deliveries that have used some of their retry budget and have not ended. */
  get postponed(): number {
    return this.#postponements.size;
  }

  /** Whether an error counts as a failure of the delivery, and not as a postponement that its retry budget still covers. */
  isFailure({ event }: DeliveryRow, error: unknown): boolean {
    if (!(error instanceof Postponed)) return true;
    if (error.unlimited) return false;
    const times = (this.#postponements.get(event) ?? 0) + 1;
    this.#postponements.set(event, times);
    return times > MOST_POSTPONEMENTS;
  }

  /** The key's other rows wait until this one has been added again. */
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

  /** The next that may run; `settle` it afterwards. */
  take(): DeliveryRow | null {
    const next = this.#ready.shift();
    if (typeof next !== 'string') return next ?? null;
    const queue = this.#queueOf(next);
    queue.busy = true;
    return queue.rows.shift() as DeliveryRow;
  }

  /** It has ended, or is tried again later (`again`), which the others of its key wait for. */
  settle(row: DeliveryRow, again: boolean): void {
    this.#known.delete(row.event);
    if (!again) this.#postponements.delete(row.event);
    if (row.key === null) return;
    const queue = this.#queueOf(row.key);
    queue.busy = false;
    if (again) {
      for (const { event } of queue.rows.splice(0)) this.#known.delete(event);
      return this.hold(row);
    }
    if (queue.rows.length === 0 && queue.overflows) {
      const rows = this.more(row.key, MOST_OF_KEY).filter(({ event }) => event !== row.event);
      queue.overflows = rows.length >= MOST_OF_KEY - 1;
      for (const each of rows) this.#known.add(each.event);
      queue.rows.push(...rows);
    }
    if (queue.rows.length > 0) this.#ready.push(row.key);
    else if (queue.heldBy === null) this.#keys.delete(row.key);
  }

  #queueOf(key: string): KeyQueue {
    let queue = this.#keys.get(key);
    if (queue === undefined) this.#keys.set(key, (queue = { rows: [], busy: false, heldBy: null, overflows: false }));
    return queue;
  }
}
