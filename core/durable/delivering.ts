import { type Clock, codeOf, type Delivery, type JsonValue, type Logger, messageOf } from '../contract/index.ts';
import { Postponed } from '../kernel/index.ts';
import { DeliveryQueue, MOST_ATTEMPTS, MOST_OF_KEY } from './delivery-queue.ts';
import { type Attempt, retryDelay } from './jobs/index.ts';
import type { DeliveryRow, DeliveryRows } from './journal.ts';

export interface DeliveringOptions {
  readonly rows: DeliveryRows;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The handlers that can be called in this process now. */
  callable(): ReadonlySet<string>;
  /** The most deliveries at once. */
  sideBySide(handler: string): number;
  /** Calls the handler; rejects when it fails. */
  call(handler: string, payload: JsonValue, delivery: Omit<Delivery, 'signal'>, signal: AbortSignal): Promise<void>;
}

/** An attempt at the job of a handler. */
export interface HandlerAttempt extends Attempt {
  readonly handler: string;
  /** The process before this one died: each attempt at a delivery is counted before it is made. */
  readonly isCounted: boolean;
}

const LOADED_AT_ONCE = 500;
const MOST_LOADED = 2000;
/** The wait before an attempt that failed through no fault of its own: a reload, a missing provider, nobody to reach. */
const PAUSE_MS = 1000;
/** For what is due sooner the attempt goes on. Also how soon it sees that the clock was changed. */
const SOON_MS = 2000;

/** Works on one handler's deliveries during an attempt of its job: in order within a key, keys side by side. */
export class Delivering {
  readonly #queue = new DeliveryQueue();
  readonly #running = new Set<Promise<void>>();
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
      for (const row of await rows.held(handler)) this.#queue.hold(row);
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
      await this.#load();
      for (let row = await this.#next(); row !== null; row = await this.#next()) this.#start(row);
      const { next } = await rows.waiting(this.attempt.handler, clock.now());
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

  async #load(): Promise<void> {
    const { rows, clock } = this.options;
    const { handler } = this.attempt;
    const queue = this.#queue;
    const after = this.#cursor;
    for (const key of queue.exhausted) queue.refill(key, await rows.ofKey(handler, key, MOST_OF_KEY));
    if (!this.#more || queue.size >= MOST_LOADED) return;
    this.#more = false; // unless a call sets it during the read
    const from = { after, now: clock.now(), mostDue: queue.size + LOADED_AT_ONCE, mostReady: LOADED_AT_ONCE };
    const { due, ready } = await queue.addLoaded(rows.load(handler, from));
    this.#cursor = ready.at(-1)?.event ?? after;
    if (ready.length === LOADED_AT_ONCE || due.length >= LOADED_AT_ONCE) this.#more = true;
  }

  async #next(): Promise<DeliveryRow | null> {
    const most = this.options.sideBySide(this.attempt.handler);
    const mayStart = () => this.#running.size < most && !this.signal.aborted;
    if (!mayStart()) return null;
    const row = this.#queue.take();
    if (row !== null || (!this.#more && this.#queue.exhausted.length === 0)) return row;
    await this.#load();
    return mayStart() ? this.#queue.take() : null;
  }

  #start(row: DeliveryRow): void {
    const running = this.#deliver(row).finally(() => {
      this.#running.delete(running);
      this.wake(); // its key may be free for a row that is due and was left
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
      const event = await rows.event(handler, id);
      if (event !== null) {
        const { topic, payload } = event;
        correlationId = event.correlationId;
        await call(handler, payload, { id: String(id), topic, key, attempt: attempts + 1, correlationId }, this.signal);
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
        return this.#queue.settle(row, again && isThere);
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

  async #failed(row: DeliveryRow, error: unknown, correlationId: string | undefined): Promise<void> {
    const { rows, clock, logger } = this.options;
    const { handler } = this.attempt;
    const counted = this.#queue.isFailure(row, error);
    const attempts = row.attempts + (counted ? 1 : 0);
    const dead = attempts >= MOST_ATTEMPTS;
    const due = dead ? -1 : clock.now() + (counted ? retryDelay(attempts, Math.random()) : PAUSE_MS);
    const fields = { handler, event: row.event, attempts, correlationId, error: messageOf(error) };
    if (!counted) logger.debug('a delivery waits', fields);
    else logger.warn(dead ? 'a delivery failed for the last time' : 'a delivery failed and is tried again', fields);
    const write = () => rows.change(handler, { event: row.event, attempts, due, error: messageOf(error) }, this.attempt);
    await this.#end(row, { write, again: !dead, correlationId });
  }
}
