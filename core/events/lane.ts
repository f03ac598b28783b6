import { messageOf } from '../contract/errors.ts';
import type { Clock, Delivery, JsonValue, Logger } from '../contract/index.ts';
import type { Lease, Leases } from '../storage/leases.ts';
import type { DeliveryRow, DeliveryRows } from './delivery-rows.ts';
import { createDoneBatch } from './done-batch.ts';
import { LaneQueue } from './lane-queue.ts';
import { Patience } from './postponed.ts';
import { MOST_ATTEMPTS, retryDelay } from './retry.ts';

export interface LaneOptions {
  readonly handler: string;
  readonly rows: DeliveryRows;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How many run at once; default 16. */
  sideBySide?(handler: string): number;
  /** Calls the handler; rejects with why it failed. */
  call(handler: string, payload: JsonValue, delivery: Omit<Delivery, 'signal'>, signal: AbortSignal): Promise<void>;
}

const SIDE_BY_SIDE = 16;
const LOADED_AT_ONCE = 500;
const MOST_LOADED = 2000;
const LEASE_MS = 15_000;
/** How long an idle lane keeps its lease. */
const LINGER_MS = 1000;
/** Until the next try of what failed for no fault of its own: a reload, a provider that is gone, nobody to reach. */
const PAUSE_MS = 1000;

/** Works on the deliveries of one handler while it holds their lease; several processes may try, one has it. */
export class Lane {
  readonly #options: LaneOptions;
  readonly #sideBySide: number;
  readonly #done: (event: number) => Promise<void>;
  #queue: LaneQueue;
  #cursor = 0;
  #more = true;
  #lease: Lease | null = null;
  #pumping = false;
  #again = false;
  #woken = false;
  #stopped = false;
  #stop = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #cancelLinger: (() => void) | undefined;
  #cancelTimer: (() => void) | undefined;
  /** Something is due and waits for what runs: for its key, or for its own end. */
  #overdue = false;
  readonly #patience = new Patience();
  /** When the lane should look again: when the next timer or retry falls due; null: none is known. */
  nextDue: number | null = null;
  /** Another process had the lease when there was work. */
  contended = false;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#sideBySide = options.sideBySide?.(options.handler) ?? SIDE_BY_SIDE;
    this.#done = createDoneBatch((events) => options.rows.done(events));
    this.#queue = new LaneQueue(this.#options.rows.ofKey);
  }

  /** Looks for work. Cheap when there is none. Never rejects. */
  wake(): void {
    this.#more = true;
    this.#woken = true;
    this.#continue();
  }

  /** Waits up to `graceMs` for what runs, then aborts it; it is delivered again later. */
  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    this.#cancelLinger?.();
    if (this.#running.size > 0 && graceMs > 0) {
      let cancel: (() => void) | undefined;
      const late = new Promise<void>((resolve) => (cancel = this.#options.clock.after(graceMs, resolve)));
      await Promise.race([Promise.allSettled(this.#running), late]);
      cancel?.();
    }
    this.#stop.abort(new Error('Pith is stopping'));
    await this.#release();
  }

  async #pump(): Promise<void> {
    const { handler, logger } = this.#options;
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        await this.#work();
      }
    } catch (error) {
      logger.warn(`deliveries to ${handler} could not be read`, { error: messageOf(error) });
      this.#wakeIn(PAUSE_MS);
    } finally {
      this.#pumping = false;
    }
  }

  async #work(): Promise<void> {
    const { rows, leases, handler, clock } = this.#options;
    this.contended = false;
    if (this.#lease === null) {
      if (!rows.hasDue(clock.now())) return this.#plan();
      const lease = await leases.acquire(`handler ${handler}`, LEASE_MS);
      if (lease === null) return void (this.contended = true);
      this.#take(lease);
      if (this.#stopped) return this.#release();
    }
    this.#cancelLinger?.();
    this.#load();
    for (let row = this.#next(); row !== null; row = this.#next()) this.#start(row);
    if (this.#woken || this.#running.size === 0) this.#plan();
    this.#woken = false;
    if (this.#running.size === 0) this.#cancelLinger = clock.after(LINGER_MS, () => void this.#release());
  }

  #take(lease: Lease): void {
    this.#lease = lease;
    this.#cursor = 0;
    this.#queue = new LaneQueue(this.#options.rows.ofKey);
    for (const row of this.#options.rows.held()) this.#queue.hold(row);
    lease.lost.addEventListener('abort', () => this.#lost(lease), { once: true });
  }

  /** Another process works on them now: what runs here must not go on. */
  #lost(lease: Lease): void {
    if (this.#lease !== lease) return;
    this.#lease = null;
    this.#stop.abort(lease.lost.reason);
    this.#stop = new AbortController();
    this.#queue = new LaneQueue(this.#options.rows.ofKey);
  }

  #load(): void {
    const { rows, clock } = this.#options;
    if (!this.#more || this.#queue.size >= MOST_LOADED) return;
    const due = rows.dueBy(clock.now(), this.#queue.size + LOADED_AT_ONCE);
    for (const row of due) this.#queue.add(row);
    const fresh = rows.after(this.#cursor, LOADED_AT_ONCE);
    for (const row of fresh) this.#queue.add(row);
    this.#cursor = fresh.at(-1)?.event ?? this.#cursor;
    this.#more = fresh.length === LOADED_AT_ONCE || due.length >= LOADED_AT_ONCE;
  }

  #next(): DeliveryRow | null {
    if (this.#running.size >= this.#sideBySide || this.#stopped || this.#lease === null) return null;
    const row = this.#queue.take();
    if (row !== null || !this.#more) return row;
    this.#load();
    return this.#queue.take();
  }

  #start(row: DeliveryRow): void {
    const queue = this.#queue;
    const running = this.#deliver(row, queue, this.#stop.signal).finally(() => {
      this.#running.delete(running);
      if (this.#overdue && row.key !== null) this.#more = this.#woken = true; // its key may be free for what is overdue
      if (!this.#stopped) this.#continue();
    });
    this.#running.add(running);
  }

  #continue(): void {
    this.#again = true;
    if (this.#pumping || this.#stopped) return;
    this.#pumping = true;
    void this.#pump();
  }

  async #deliver(row: DeliveryRow, queue: LaneQueue, signal: AbortSignal): Promise<void> {
    const { rows, handler, call } = this.#options;
    const { event: id, key, attempts } = row;
    let correlationId: string | undefined;
    const counted = this.#lease?.inherited === true;
    try {
      if (attempts >= MOST_ATTEMPTS) throw new Error('the process that worked on it ended each time');
      if (counted) await rows.count(id, attempts + 1);
      const event = rows.event(id);
      if (event !== null) {
        const { topic, payload } = event;
        correlationId = event.correlationId;
        await call(handler, payload, { id: String(id), topic, key, attempt: attempts + 1, correlationId }, signal);
      }
    } catch (error) {
      if (!signal.aborted) return this.#failed(row, queue, error, correlationId);
      if (counted && this.#stopped) await rows.count(id, attempts).catch(() => undefined); // the store is gone: it stands as one more attempt
      return;
    }
    if (await this.#written(row, this.#done(id), correlationId)) queue.settle(row, false);
  }

  /** False when it stands on disk as it was: then it is read again, and what it did is done again. */
  async #written(row: DeliveryRow, write: Promise<void>, correlationId: string | undefined): Promise<boolean> {
    const { logger, clock, handler } = this.#options;
    try {
      await write;
      return true;
    } catch (error) {
      logger.warn('the end of a delivery could not be written', { handler, event: row.event, correlationId, error: messageOf(error) });
      await clock.sleep(PAUSE_MS, this.#stop.signal).catch(() => undefined); // it is stopping
      if (this.#lease !== null) {
        this.#cursor = Math.min(this.#cursor, row.event - 1);
        this.#queue.settle(row, row.key !== null);
        this.#more = true;
      }
      return false;
    }
  }

  async #failed(row: DeliveryRow, queue: LaneQueue, error: unknown, correlationId: string | undefined): Promise<void> {
    const { rows, clock, handler, logger } = this.#options;
    const counted = this.#patience.isOver(row.event, error);
    const attempts = row.attempts + (counted ? 1 : 0);
    const dead = attempts >= MOST_ATTEMPTS;
    const due = dead ? -1 : clock.now() + (counted ? retryDelay(attempts, Math.random()) : PAUSE_MS);
    const fields = { handler, event: row.event, attempts, correlationId, error: messageOf(error) };
    if (!counted) logger.debug('a delivery waits', fields);
    else logger.warn(dead ? 'a delivery failed for the last time' : 'a delivery failed and is tried again', fields);
    if (await this.#written(row, rows.postpone(row.event, due, attempts, messageOf(error)), correlationId)) queue.settle(row, !dead);
    this.#woken = true;
  }

  /** What is due already needs no timer: it runs, or is looked for again when its key is free and at the next poll. */
  #plan(): void {
    const now = this.#options.clock.now();
    const { next, isOverdue } = this.#options.rows.nextDue(now);
    this.#overdue = isOverdue;
    this.nextDue = isOverdue ? now : next;
    this.#cancelTimer?.();
    if (next !== null) this.#wakeIn(next - now);
  }

  /** Far times are seen by the poll, which also sees the clock jump. */
  #wakeIn(ms: number): void {
    this.#cancelTimer?.();
    if (ms <= FAR_MS) this.#cancelTimer = this.#options.clock.after(Math.max(1, ms), () => this.wake());
  }

  async #release(): Promise<void> {
    const lease = this.#lease;
    if (lease === null || (this.#running.size > 0 && !this.#stopped)) return;
    this.#lease = null;
    await lease.release().catch((error: unknown) => {
      this.#options.logger.warn(`the lease of ${this.#options.handler} was not given back`, { error: messageOf(error) });
    });
  }
}

const FAR_MS = 2000;
