import { within } from '@pith/promises';
import { type Clock, type Delivery, type JsonValue, type Logger, messageOf } from '../contract/index.ts';
import type { Lease, Leases } from '../store/index.ts';
import { DeliveryQueue, MOST_ATTEMPTS, MOST_OF_KEY, retryDelay } from './delivery-queue.ts';
import type { DeliveryRow, DeliveryRows, Journal } from './journal.ts';

export interface WorkerOptions {
  readonly handler: string;
  readonly events: Pick<Journal, 'event'>;
  readonly rows: DeliveryRows;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The most deliveries at once; default 16. */
  sideBySide?(handler: string): number;
  /** Calls the handler; rejects when it fails. */
  call(handler: string, payload: JsonValue, delivery: Omit<Delivery, 'signal'>, signal: AbortSignal): Promise<void>;
}

const SIDE_BY_SIDE = 16;
const LOADED_AT_ONCE = 500;
const MOST_LOADED = 2000;
const LEASE_MS = 15_000;
/** How long an idle worker keeps its lease. */
const LINGER_MS = 1000;
/** The wait before an attempt that failed through no fault of its own: a reload, a missing provider, nobody to reach. */
const PAUSE_MS = 1000;
/** Later times need no timer: the poll sees them, and also clock changes. */
const FAR_MS = 2000;

/** A worker's state under one lease, dropped as a whole when the lease is lost. */
interface Session {
  readonly lease: Lease;
  readonly queue: DeliveryQueue;
  /** Aborts running deliveries. */
  readonly abort: AbortController;
  /** The last event that has been read. */
  cursor: number;
}

/** Processes one handler's deliveries while it has the lease; several processes may try, one has it. */
export class Worker {
  readonly #sideBySide: number;
  #session: Session | null = null;
  #more = true;
  /** The current search for work. */
  #pumping: Promise<void> | null = null;
  #again = false;
  #woken = false;
  #stopped = false;
  readonly #running = new Set<Promise<void>>();
  #cancelLinger: (() => void) | undefined;
  #cancelTimer: (() => void) | undefined;
  /** A due row waits for a running one: for its key, or for itself to end. */
  #overdue = false;
  /** When to look again: when the next timer or retry is due; null: unknown. */
  nextDue: number | null = null;
  /** Work could not be started: another process had the lease, or work of a lost lease was still running here. */
  contended = false;

  constructor(private readonly options: WorkerOptions) {
    this.#sideBySide = options.sideBySide?.(options.handler) ?? SIDE_BY_SIDE;
  }

  /** Looks for work. Cheap when there is none. Never rejects. */
  wake(): void {
    this.#more = true;
    this.#woken = true;
    this.#continue();
  }

  /**
   * Waits up to `graceMs` for running deliveries, then aborts them; they are delivered again later. Nobody else starts one while it still
   * runs: the lease is kept until it has ended, and then left to expire, because an aborted call does not show whether the code behind it
   * has stopped.
   */
  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    this.#cancelTimers();
    if (this.#running.size > 0 && graceMs > 0) await within(this.options.clock, graceMs, Promise.allSettled(this.#running));
    await this.#pumping; // it may be about to get the lease
    this.#cancelTimers();
    const session = this.#session;
    if (session === null) return;
    if (this.#running.size === 0) return this.#release();
    this.#session = null;
    session.abort.abort(new Error('Pith is stopping'));
    void Promise.allSettled(this.#running).then(() => session.lease.expire());
  }

  async #pump(): Promise<void> {
    const { handler, logger } = this.options;
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        await this.#work();
      }
    } catch (error) {
      logger.warn(`deliveries to ${handler} could not be read`, { error: messageOf(error) });
      this.#wakeIn(PAUSE_MS);
    } finally {
      this.#pumping = null;
    }
  }

  async #work(): Promise<void> {
    this.contended = false;
    if (this.#session === null) {
      if (!(await this.#plan())) return;
      this.#session = await this.#open();
      if (this.#session === null) return void (this.contended = true);
      if (this.#stopped) return this.#release();
    }
    const session = this.#session;
    this.#cancelLinger?.();
    await this.#load(session);
    for (let row = await this.#next(session); row !== null; row = await this.#next(session)) this.#start(row, session);
    const isWoken = this.#woken;
    this.#woken = false;
    if (isWoken || this.#running.size === 0) await this.#plan();
    if (this.#running.size > 0 || this.#isSoonDue()) return;
    this.#cancelLinger?.();
    this.#cancelLinger = this.options.clock.after(LINGER_MS, () => void this.#release());
  }

  /** null while another process has the lease, or work of an earlier lease still runs. */
  async #open(): Promise<Session | null> {
    const { leases, handler, rows } = this.options;
    const lease = this.#running.size > 0 ? null : await leases.acquire(`handler ${handler}`, LEASE_MS);
    if (lease === null) return null;
    const session: Session = { lease, queue: new DeliveryQueue(), abort: new AbortController(), cursor: 0 };
    for (const row of await rows.held(handler)) session.queue.hold(row);
    this.#more = true; // the previous holder's work is unknown
    lease.lost.addEventListener('abort', () => this.#lost(session), { once: true });
    return session;
  }

  /** Another process has the deliveries now: work here must stop. */
  #lost(session: Session): void {
    if (this.#session === session) this.#session = null;
    session.abort.abort(session.lease.lost.reason);
  }

  async #load(session: Session): Promise<void> {
    const { rows, handler, clock } = this.options;
    const { queue, cursor: after } = session;
    for (const key of queue.exhausted) queue.refill(key, await rows.ofKey(handler, key, MOST_OF_KEY));
    if (!this.#more || queue.size >= MOST_LOADED) return;
    this.#more = false; // unless a call sets it during the read
    const from = { after, now: clock.now(), mostDue: queue.size + LOADED_AT_ONCE, mostReady: LOADED_AT_ONCE };
    const { due, ready } = await queue.addLoaded(rows.load(handler, from));
    if (session.cursor === after) session.cursor = ready.at(-1)?.event ?? after;
    if (ready.length === LOADED_AT_ONCE || due.length >= LOADED_AT_ONCE) this.#more = true;
  }

  async #next(session: Session): Promise<DeliveryRow | null> {
    const mayStart = () => this.#running.size < this.#sideBySide && !this.#stopped && this.#session === session;
    if (!mayStart()) return null;
    const row = session.queue.take();
    if (row !== null || (!this.#more && session.queue.exhausted.length === 0)) return row;
    await this.#load(session);
    return mayStart() ? session.queue.take() : null;
  }

  #start(row: DeliveryRow, session: Session): void {
    const running = this.#deliver(row, session).finally(() => {
      this.#running.delete(running);
      if (this.#overdue && row.key !== null) this.#more = this.#woken = true; // its key may be free for an overdue row
      if (!this.#stopped) this.#continue();
    });
    this.#running.add(running);
  }

  #continue(): void {
    this.#again = true;
    if (this.#pumping || this.#stopped) return;
    this.#pumping = this.#pump();
  }

  async #deliver(row: DeliveryRow, session: Session): Promise<void> {
    const { events, rows, handler, call } = this.options;
    const { event: id, key, attempts } = row;
    const { signal } = session.abort;
    const { fence } = session.lease;
    let correlationId: string | undefined;
    const counted = session.lease.inherited;
    try {
      if (attempts >= MOST_ATTEMPTS) throw new Error('the process that worked on it ended each time');
      if (counted) await rows.change(handler, { event: id, attempts: attempts + 1 }, fence);
      const event = await events.event(id);
      if (event !== null) {
        const { topic, payload } = event;
        correlationId = event.correlationId;
        await call(handler, payload, { id: String(id), topic, key, attempt: attempts + 1, correlationId }, signal);
      }
    } catch (error) {
      if (!signal.aborted) return this.#failed(row, session, error, correlationId);
      if (counted && this.#stopped) await rows.change(handler, { event: id, attempts }, fence).catch(() => undefined); // the store is gone: it counts as one more attempt
      return;
    }
    if (await this.#written(row, session, rows.done(handler, id, fence), correlationId)) session.queue.settle(row, false);
  }

  /** False when the row is unchanged on disk: it is then read and processed again. */
  async #written(row: DeliveryRow, session: Session, write: Promise<void>, correlationId: string | undefined): Promise<boolean> {
    const { logger, clock, handler } = this.options;
    try {
      await write;
      return true;
    } catch (error) {
      logger.warn('the end of a delivery could not be written', { handler, event: row.event, correlationId, error: messageOf(error) });
      await clock.sleep(PAUSE_MS, session.abort.signal).catch(() => undefined); // the worker is stopping
      if (this.#session === session) {
        session.cursor = Math.min(session.cursor, row.event - 1);
        session.queue.settle(row, row.key !== null);
        this.#more = true;
      }
      return false;
    }
  }

  async #failed(row: DeliveryRow, session: Session, error: unknown, correlationId: string | undefined): Promise<void> {
    const { rows, clock, handler, logger } = this.options;
    const counted = session.queue.isFailure(row, error);
    const attempts = row.attempts + (counted ? 1 : 0);
    const dead = attempts >= MOST_ATTEMPTS;
    const due = dead ? -1 : clock.now() + (counted ? retryDelay(attempts, Math.random()) : PAUSE_MS);
    const fields = { handler, event: row.event, attempts, correlationId, error: messageOf(error) };
    if (!counted) logger.debug('a delivery waits', fields);
    else logger.warn(dead ? 'a delivery failed for the last time' : 'a delivery failed and is tried again', fields);
    const write = rows.change(handler, { event: row.event, attempts, due, error: messageOf(error) }, session.lease.fence);
    if (await this.#written(row, session, write, correlationId)) session.queue.settle(row, !dead);
    this.#woken = true;
  }

  /** False when nothing may run now. A due row needs no timer: it runs, or is read again when its key is free and at the next poll. */
  async #plan(): Promise<boolean> {
    const { rows, handler, clock } = this.options;
    const now = clock.now();
    const { next, isOverdue, isReady } = await rows.waiting(handler, now);
    this.#overdue = isOverdue;
    this.nextDue = isOverdue ? now : next;
    this.#cancelTimer?.();
    if (next !== null) this.#wakeIn(next - now);
    return isOverdue || isReady;
  }

  /** Keeps the lease, and with it the deliveries that wait for their next attempt. */
  #isSoonDue(): boolean {
    return this.nextDue !== null && this.nextDue - this.options.clock.now() <= FAR_MS;
  }

  #cancelTimers(): void {
    this.#cancelTimer?.();
    this.#cancelLinger?.();
  }

  #wakeIn(ms: number): void {
    this.#cancelTimer?.();
    if (ms <= FAR_MS) this.#cancelTimer = this.options.clock.after(Math.max(1, ms), () => this.wake());
  }

  async #release(): Promise<void> {
    const session = this.#session;
    if (session === null || this.#running.size > 0) return;
    this.#session = null;
    await session.lease.release().catch((error: unknown) => {
      this.options.logger.warn(`the lease of ${this.options.handler} was not given back`, { error: messageOf(error) });
    });
  }
}
