import { printableLine } from '@pith/plain-text';
import { NO_SPAN, type Span, startSpan, traced, underTraceparent } from '@pith/genai-spans';
import { within } from '@pith/promises';
import { type Clock, codeOf, type Logger, messageOf, PithError } from '../../contract/index.ts';
import { type HandlerEnd, type JobHandlers, Postponed, readable } from '../../kernel/index.ts';
import { callOf, infoOf } from './calls.ts';
import type { Attempt, JobDeclaration, JobStore, Outcome, StopReason } from './port.ts';
import { hasEnded, isOfKernel, type JobRow } from './row.ts';
import { DONE, ENDED_SUFFIX, heldValue } from './store.ts';
import { GRACE_MS, LEASE_MS, LONGEST_LIMIT_MS, MAY_HAVE_HAPPENED, retryDelay } from './transitions.ts';

export interface AttemptsOptions {
  readonly store: JobStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly handlers: Pick<JobHandlers, 'call' | 'notify'>;
  /** An attempt is over: its slot is free. */
  ended(): void;
}

/** Between two renewals of a lease. */
export const RENEW_MS = LEASE_MS / 3;
/** The wait before an attempt that failed through no fault of its own, and before an end is written again. */
const PAUSE_MS = 1_000;
/** Of a failure, as it is kept. */
const MOST_TEXT = 4_000;
/** Of a failure, as it is logged. */
const MOST_LOGGED = 500;

interface Running extends Attempt {
  readonly row: JobRow;
  readonly job: JobDeclaration;
  readonly abort: AbortController;
  /** When its lease ends. */
  until: number;
  ended: Promise<void>;
}

/** The attempts of this process, from a claim until their end is written. */
export class Attempts {
  /** Without those that another process has now. */
  readonly #running = new Set<Running>();
  readonly #closed = new AbortController();
  /** How often in a row a provider limited the requests of a lane, or of a name. */
  readonly #limits = new Map<string, number>();
  #renewedAt = 0;
  #isStorageFailing = false;

  constructor(private readonly options: AttemptsOptions) {}

  get size(): number {
    return this.#running.size;
  }

  /** When leases must be renewed. */
  get renewAt(): number {
    return this.size === 0 ? Infinity : this.#renewedAt + RENEW_MS;
  }

  start(row: JobRow, job: JobDeclaration): void {
    const { id, fence } = row;
    const now = this.options.clock.now();
    if (this.size === 0) this.#renewedAt = now;
    for (const earlier of this.#running) if (earlier.id === id) this.#stop(earlier, 'lost'); // others had it meanwhile
    const abort = new AbortController();
    const running: Running = { id, fence, row, job, abort, until: now + LEASE_MS, ended: Promise.resolve() };
    this.#running.add(running);
    running.ended = this.#work(running).finally(() => {
      this.#running.delete(running);
      this.options.ended();
    });
  }

  /** Renews all leases once they are due, and aborts what must stop, or may have been taken over meanwhile. */
  async renew(now: number): Promise<void> {
    const { store, clock } = this.options;
    const since = now - this.#renewedAt;
    if (this.size === 0 || (since >= 0 && since < RENEW_MS)) return;
    if (since > LEASE_MS) this.#reportBlocked(since);
    this.#renewedAt = now;
    const held = [...this.#running];
    const left = Math.min(...held.map(({ until }) => until)) - now;
    try {
      const late = () => {
        throw new PithError('lease_lost', 'the leases of jobs could not be renewed in time');
      };
      const stops = await within(clock, Math.min(LEASE_MS, Math.max(RENEW_MS, left)), store.renew(held), late);
      for (const running of held) running.until = now + LEASE_MS;
      for (const [running, reason] of stops) this.#stop(running, reason);
    } catch (error) {
      const at = clock.now();
      for (const { until, abort } of held) if (until <= at) abort.abort(reasonOf('lost'));
      throw error;
    }
  }

  /** Says once that jobs cannot be written, until it worked again. */
  storageFailed(error: unknown): void {
    if (!this.#isStorageFailing) this.options.logger.warn('jobs wait until the database can be used again', { error: messageOf(error) });
    this.#isStorageFailing = true;
  }

  storageWorked(): void {
    this.#isStorageFailing = false;
  }

  /** Aborts what was cancelled or taken over. */
  async look(): Promise<void> {
    if (this.size === 0) return;
    for (const [running, reason] of await this.options.store.stops([...this.#running])) this.#stop(running, reason);
  }

  abort(): void {
    for (const { abort } of this.#running) abort.abort(new PithError('stopped', 'Pith is stopping'));
  }

  /** Aborts all, and leaves what has not ended after the grace. */
  async stop(): Promise<void> {
    const { store, clock } = this.options;
    this.abort();
    await within(clock, GRACE_MS, Promise.allSettled([...this.#running].map(({ ended }) => ended)));
    const left = [...this.#running].map(attemptOf);
    this.#running.clear();
    this.#closed.abort();
    if (left.length > 0) await store.leave(left).catch((error: unknown) => this.storageFailed(error));
  }

  #stop(running: Running, reason: StopReason): void {
    running.abort.abort(reasonOf(reason));
    if (reason === 'lost') this.#running.delete(running);
  }

  /** An end that cannot be written is kept until it can. */
  async #work(running: Running): Promise<void> {
    const { store, clock } = this.options;
    const outcome = await this.#outcome(running);
    while (this.#running.has(running)) {
      try {
        await store.settle(attemptOf(running), outcome, running.job.keep);
        return this.storageWorked();
      } catch (error) {
        this.storageFailed(error);
        await clock.sleep(PAUSE_MS, this.#closed.signal).catch(() => undefined); // it stops, and the attempt was left
      }
    }
  }

  async #outcome(running: Running): Promise<Outcome> {
    try {
      const end = await this.#limited(running);
      this.#limits.delete(limitOf(running.row));
      return end;
    } catch (error) {
      return this.#failure(running, error);
    }
  }

  /** The call, with the time that its declaration gives it. */
  async #limited(running: Running): Promise<HandlerEnd> {
    const { row, job, abort } = running;
    const { clock } = this.options;
    const { timeout_ms: timeoutMs } = job;
    const call = underTraceparent(row.traceparent, () => this.#call(row, abort.signal));
    if (timeoutMs === undefined) return call;
    return within(clock, timeoutMs, call, () => {
      const late = new PithError('job_timeout', `job ${row.id} (${row.name}): it took longer than ${timeoutMs} ms`);
      abort.abort(late);
      return within(clock, GRACE_MS, call, () => Promise.reject(late));
    });
  }

  async #call(row: JobRow, signal: AbortSignal): Promise<HandlerEnd> {
    const { handlers, store } = this.options;
    if (!row.name.endsWith(ENDED_SUFFIX))
      return traced(
        spanOf(row),
        () => handlers.call(row.name, callOf(row), signal),
        (error) => codeOf(error, 'handler_failed'),
      );
    const ended = await store.get(JSON.parse(row.payload));
    const isStill = ended !== null && hasEnded(ended) && ended.state !== 'done'; // a person may have had it tried again
    if (isStill) await handlers.notify(ended.name, infoOf(ended, await store.notes(ended.id)), signal);
    return DONE;
  }

  async #failure({ row, job, abort: { signal } }: Running, thrown: unknown): Promise<Outcome> {
    const { clock, logger } = this.options;
    const isTimeout = signal.aborted && codeOf(signal.reason, '') === 'job_timeout';
    const isOnce = row.mostAttempts === 1;
    const own = readable(thrown);
    const isCut = own instanceof Postponed && own.hasBegun;
    if (isOnce && (isCut || (signal.aborted && !isTimeout))) return { kind: 'failed', error: MAY_HAVE_HAPPENED, retryAt: 0, isFinal: true };
    if (signal.aborted && !isTimeout) return { kind: 'returned', at: null };
    const error: unknown = isTimeout ? signal.reason : own;
    if (error instanceof Postponed) return { kind: 'returned', at: clock.now() + PAUSE_MS };
    const code = codeOf(error, 'handler_failed');
    if (code === 'model_rate_limited') {
      const at = await this.#holdLane(row, job, error);
      if (!isOnce) return { kind: 'returned', at };
    }
    const isFinal = code === 'job_outdated';
    const attempts = row.attempts + 1;
    const isLast = isFinal || attempts >= row.mostAttempts;
    logger.warn(isLast ? 'a job failed for the last time' : 'a job failed and is tried again', {
      job: row.id,
      name: row.name,
      attempts,
      error: printableLine(messageOf(error), MOST_LOGGED),
    });
    const failed = { kind: 'failed', error: { code, message: messageOf(error).slice(0, MOST_TEXT) } } as const;
    const retryAt = clock.now() + retryDelay(attempts, Math.random(), job.backoff);
    return isFinal ? { ...failed, retryAt, isFinal } : { ...failed, retryAt };
  }

  /** Nothing of the lane starts before the provider takes requests again: when it said, or else presumably. */
  async #holdLane(row: JobRow, job: JobDeclaration, error: unknown): Promise<number> {
    const { store, clock } = this.options;
    const times = (this.#limits.get(limitOf(row)) ?? 0) + 1;
    this.#limits.set(limitOf(row), times);
    const asked = (error instanceof PithError ? error.retryAfterMs : undefined) ?? NaN;
    const wait = asked >= 0 ? Math.min(Math.max(asked, PAUSE_MS), LONGEST_LIMIT_MS) : retryDelay(times, Math.random(), job.backoff);
    const until = Math.ceil(clock.now() + wait);
    if (row.lane === null) return until;
    const lane = heldValue(row.name, row.lane);
    try {
      const isHeldLonger = (await store.holds()).some(
        (hold) => hold.kind === 'lane' && (hold.value === lane || hold.value === row.lane) && (hold.until ?? Infinity) > until,
      );
      if (!isHeldLonger) await store.hold({ kind: 'lane', value: lane, until, reason: messageOf(error) });
    } catch (failure) {
      this.storageFailed(failure); // only this job waits
    }
    return until;
  }

  #reportBlocked(ms: number): void {
    const names = [...new Set([...this.#running].map(({ row }) => row.name))].join(', ');
    this.options.logger.warn(
      `jobs ${names}: the process did not respond for ${Math.round(ms / 1000)} s, and others may have them now; let their handlers wait instead of compute`,
    );
  }
}

/** What the kernel's own jobs do has spans of its own. */
function spanOf({ id, name, attempts }: JobRow): Span {
  if (isOfKernel(name)) return NO_SPAN;
  const attributes = { 'messaging.destination.name': name, 'messaging.message.id': id, 'pith.attempt': attempts + 1 };
  return startSpan({ operation: 'process', correlationId: id, attributes });
}

function attemptOf({ id, fence }: Attempt): Attempt {
  return { id, fence };
}

function limitOf({ lane, name }: JobRow): string {
  return lane ?? name;
}

function reasonOf(reason: StopReason): PithError {
  if (reason === 'lost') return new PithError('lease_lost', 'another process may have the job now');
  return new PithError(reason, reason === 'cancelled' ? 'the job was cancelled' : 'a more urgent job takes the place of this one');
}
