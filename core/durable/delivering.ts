import { printableLine } from '@pith/plain-text';
import { type Clock, codeOf, type Delivery, type Logger, messageOf } from '../contract/index.ts';
import { Postponed } from '../kernel/index.ts';
import { type Attempt, retryDelay } from './jobs/index.ts';
import type { DeliveredEvent, Deliveries, DeliveryRow } from './sqlite-deliveries.ts';

export interface DeliveringOptions {
  readonly rows: Deliveries;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The handlers that can be called in this process now. */
  callable(): ReadonlySet<string>;
  /** The most deliveries at once. */
  sideBySide(handler: string): number;
  /** Calls the handler; rejects when it fails. */
  call(
    handler: string,
    event: Pick<DeliveredEvent, 'payload' | 'traceparent'>,
    delivery: Omit<Delivery, 'signal'>,
    signal: AbortSignal,
  ): Promise<void>;
}

/** An attempt at the job of a handler. */
export interface HandlerAttempt extends Attempt {
  readonly handler: string;
  /** The process before this one died: each attempt at a delivery is counted before it is made. */
  readonly isCounted: boolean;
}

/** After this many failures a delivery is a dead letter. */
const MOST_ATTEMPTS = 8;
/** The most postponements of a delivery; further attempts count as failures. */
const MOST_POSTPONEMENTS = 60;
/** Characters of a failure, as it is logged. */
const MOST_LOGGED = 500;
/** Rows that are read at once; others are read when these have begun. */
const READ_AT_ONCE = 500;
/** The wait before an attempt that failed through no fault of its own: a reload, a missing provider, nobody to reach. */
const PAUSE_MS = 1000;
/** For what is due sooner the attempt goes on. Also how soon it sees that the clock was changed. */
const SOON_MS = 2000;

/** Works on one handler's deliveries during an attempt of its job: in order within a key, keys side by side. */
export class Delivering {
  /** What may start, in this order. */
  readonly #ready: DeliveryRow[] = [];
  readonly #running = new Set<Promise<void>>();
  /** The events of both. */
  readonly #known = new Set<number>();
  /** Of each key the event that is ready, runs, or waits for its next attempt: the others of the key wait for it. */
  readonly #firsts = new Map<string, number>();
  /** How often those were postponed that have not ended. */
  readonly #postponements = new Map<number, number>();
  /** The last event that has been read. */
  #cursor = 0;
  /** There may be rows that were not read. */
  #more = true;
  #ring = (): void => undefined;

  constructor(
    private readonly options: DeliveringOptions,
    private readonly attempt: HandlerAttempt,
    private readonly signal: AbortSignal,
  ) {}

  /** What is kept of deliveries that have not ended. */
  get size(): number {
    return this.#known.size + this.#firsts.size + this.#postponements.size;
  }

  /** There may be more deliveries, or the handler may be gone. */
  wake(): void {
    this.#more = true;
    this.#ring();
  }

  /**
   * Resolves when nothing runs, and nothing is due soon: with the time of the next delivery, or null. Rejects `Postponed` where the handler
   * cannot be called or rows cannot be read, and as `signal` says; but never while a delivery still runs.
   */
  async work(): Promise<number | null> {
    const { rows, logger } = this.options;
    const { handler } = this.attempt;
    const ring = () => this.#ring();
    this.signal.addEventListener('abort', ring);
    try {
      for (const { key, event } of rows.held(handler)) if (key !== null && !this.#firsts.has(key)) this.#firsts.set(key, event);
      return await this.#deliverAll();
    } catch (error) {
      if (this.signal.aborted || error instanceof Postponed) throw error;
      logger.warn(`deliveries to ${handler} could not be read`, { error: messageOf(error) });
      throw new Postponed(error);
    } finally {
      this.signal.removeEventListener('abort', ring);
      await Promise.allSettled(this.#running);
    }
  }

  async #deliverAll(): Promise<number | null> {
    const { clock, rows } = this.options;
    for (;;) {
      const rung = new Promise<void>((ring) => (this.#ring = ring));
      this.#check();
      for (let row = this.#next(); row !== null; row = this.#next()) this.#start(row);
      const next = rows.next(this.attempt.handler, clock.now());
      const wait = next === null ? Infinity : next - clock.now();
      if (this.#running.size === 0 && wait > SOON_MS) return next;
      const cancel = wait === Infinity ? undefined : clock.after(Math.max(1, Math.min(wait, SOON_MS)), () => this.wake());
      await rung;
      cancel?.();
    }
  }

  #check(): void {
    this.signal.throwIfAborted();
    if (!this.options.callable().has(this.attempt.handler)) throw new Postponed('the handler cannot be called now');
  }

  #next(): DeliveryRow | null {
    if (this.#running.size >= this.options.sideBySide(this.attempt.handler) || this.signal.aborted) return null;
    while (this.#ready.length === 0 && this.#more) this.#read();
    return this.#ready.shift() ?? null;
  }

  #read(): void {
    const { rows, clock } = this.options;
    const { handler } = this.attempt;
    const mostDue = this.#known.size + READ_AT_ONCE; // those that run are read again
    const due = rows.due(handler, clock.now(), this.#firsts, mostDue);
    const ready = rows.ready(handler, this.#cursor, READ_AT_ONCE);
    this.#cursor = ready.at(-1)?.event ?? this.#cursor;
    this.#more = ready.length === READ_AT_ONCE || due.length === mostDue;
    for (const row of [...due, ...ready]) if ((this.#firsts.get(row.key ?? '') ?? row.event) === row.event) this.#add(row);
  }

  #add(row: DeliveryRow): void {
    if (this.#known.has(row.event)) return;
    this.#known.add(row.event);
    if (row.key !== null) this.#firsts.set(row.key, row.event);
    this.#ready.push(row);
  }

  #start(row: DeliveryRow): void {
    const running = this.#deliver(row).finally(() => {
      this.#running.delete(running);
      this.wake(); // what has come due meanwhile is read
    });
    this.#running.add(running);
  }

  async #deliver(row: DeliveryRow): Promise<void> {
    const { rows, call } = this.options;
    const { handler, isCounted } = this.attempt;
    const { event: id, key, attempts } = row;
    let correlationId: string | undefined;
    try {
      if (attempts >= MOST_ATTEMPTS) throw new Error('the process that worked on it ended each time');
      if (isCounted) await rows.change(handler, { event: id, attempts: attempts + 1 }, this.attempt);
      const event = rows.event(handler, id);
      if (event !== null) {
        const { topic } = event;
        correlationId = event.correlationId;
        await call(handler, event, { id: String(id), topic, key, attempt: attempts + 1, correlationId }, this.signal);
      }
    } catch (error) {
      if (!this.signal.aborted) return this.#failed(row, error, correlationId);
      if (isCounted) await rows.change(handler, { event: id, attempts }, this.attempt).catch(() => undefined); // the job is another's: it counts as one more attempt
      return;
    }
    await this.#end(row, { write: () => rows.done(handler, id, this.attempt), again: false, correlationId });
  }

  /** What has ended is not made again because its end cannot be written. Where another process has the job, or this one stops, it stays as it is. */
  async #end(
    row: DeliveryRow,
    { write, again, correlationId }: { write(): Promise<boolean>; again: boolean; correlationId: string | undefined },
  ): Promise<void> {
    const { logger, clock } = this.options;
    const { handler } = this.attempt;
    for (;;) {
      try {
        const isThere = await write();
        return this.#settle(row, again && isThere);
      } catch (error) {
        if (codeOf(error, '') === 'lease_lost') return;
        logger.warn('the end of a delivery could not be written', { handler, event: row.event, correlationId, error: messageOf(error) });
      }
      const isStopping = await clock.sleep(PAUSE_MS, this.signal).then(
        () => false,
        () => true,
      );
      if (isStopping) return;
    }
  }

  /** `again`: it waits for another attempt, and the others of its key for it. */
  #settle({ event, key }: DeliveryRow, again: boolean): void {
    this.#known.delete(event);
    if (again) return;
    this.#postponements.delete(event);
    if (key === null) return;
    this.#firsts.delete(key);
    const next = this.options.rows.firstOfKey(this.attempt.handler, key, this.options.clock.now());
    if (next !== undefined) this.#add(next);
  }

  async #failed(row: DeliveryRow, error: unknown, correlationId: string | undefined): Promise<void> {
    const { rows, clock, logger } = this.options;
    const { handler } = this.attempt;
    const counted = this.#isFailure(row, error);
    const attempts = row.attempts + (counted ? 1 : 0);
    const dead = attempts >= MOST_ATTEMPTS;
    const due = dead ? -1 : clock.now() + (counted ? retryDelay(attempts, Math.random()) : PAUSE_MS);
    const fields = { handler, event: row.event, attempts, correlationId, error: printableLine(messageOf(error), MOST_LOGGED) };
    if (!counted) logger.debug('a delivery waits', fields);
    else logger.warn(dead ? 'a delivery failed for the last time' : 'a delivery failed and is tried again', fields);
    const write = () => rows.change(handler, { event: row.event, attempts, due, error: messageOf(error) }, this.attempt);
    await this.#end(row, { write, again: !dead, correlationId });
  }

  /** Whether an error counts as a failure of the delivery, or postpones it. */
  #isFailure({ event }: DeliveryRow, error: unknown): boolean {
    if (!(error instanceof Postponed)) return true;
    if (error.unlimited) return false;
    const times = (this.#postponements.get(event) ?? 0) + 1;
    this.#postponements.set(event, times);
    return times > MOST_POSTPONEMENTS;
  }
}
