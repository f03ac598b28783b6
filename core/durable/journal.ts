import { type Clock, type JsonValue, PithError, type PublishOptions } from '../contract/index.ts';
import { isLonger, jsonText } from '../kernel/index.ts';
import type { Fence } from '../store/index.ts';

/** An event that is ready to be written. */
export interface NewEvent {
  readonly topic: string;
  readonly payload: object;
  /** The payload as JSON. */
  readonly text: string;
  /** Deliveries with the same key keep their order; null: no order. */
  readonly key: string | null;
  readonly correlationId: string | null;
  readonly at: number;
  /** When it is delivered; 0 for now. */
  readonly due: number;
  /** `extension/method` of each handler that gets it. */
  readonly handlers: readonly string[];
}

export interface WrittenEvent extends Pick<NewEvent, 'topic' | 'payload' | 'handlers'> {
  readonly id: string;
}

/** Durable events. An event and its deliveries are one commit; ids are in the order of commits. */
export interface Journal {
  /** null: it has been deleted. */
  event(id: number): Promise<(Pick<NewEvent, 'topic' | 'at'> & { readonly payload: JsonValue; readonly correlationId: string }) | null>;
  /** A number that changes with each write of another process. */
  revision(): Promise<number>;
  /**
   * Notes which handlers are no longer declared. Deletes the deliveries of those noted before `goneBefore`, and events older than
   * `eventsBefore` unless a delivery of them still waits.
   */
  tidy(
    declared: ReadonlySet<string>,
    times: { readonly now: number; readonly goneBefore: number; readonly eventsBefore: number },
  ): Promise<void>;
  /** Newest first. */
  deadLetters(limit: number): Promise<readonly Readonly<{ handler: string; event: number; topic: string; error: string }>[]>;
  /** Deliveries that wait for handlers that no manifest declares. */
  orphans(declared: ReadonlySet<string>): Promise<readonly { readonly handler: string; readonly count: number }[]>;
}

/** A delivery in a worker's memory; its event is read when it runs. */
export interface DeliveryRow {
  readonly event: number;
  readonly key: string | null;
  /** The number of failed attempts. */
  readonly attempts: number;
}

/** Deliveries by handler. A successful delivery is deleted; one that failed too often has the due time -1. */
export interface DeliveryRows {
  /** Rows that are due, and rows of events later than `after` that may run now; at most `mostDue` and `mostReady`. */
  load(
    handler: string,
    from: { readonly after: number; readonly now: number; readonly mostDue: number; readonly mostReady: number },
  ): Promise<{ readonly due: readonly DeliveryRow[]; readonly ready: readonly DeliveryRow[] }>;
  /** The first rows of a key that may run now. */
  ofKey(handler: string, key: string, limit: number): Promise<readonly DeliveryRow[]>;
  /** The rows of a key that wait for another attempt. */
  held(handler: string): Promise<readonly DeliveryRow[]>;
  /** `next`: the first due time after `now`. `isOverdue`: some row is due. `isReady`: some may run now. */
  waiting(handler: string, now: number): Promise<{ readonly next: number | null; readonly isOverdue: boolean; readonly isReady: boolean }>;
  /** How many events up to `until` wait: those later than `recent`, and older ones. */
  missed(handler: string, until: number, recent: number): Promise<{ readonly recent: number; readonly old: number }>;
  /** Marks a row as successful. Changes nothing without the lease, as `change` does. */
  done(handler: string, event: number, fence: Fence): Promise<void>;
  /** Counts an attempt, or postpones the next one. */
  change(handler: string, change: DeliveryChange, fence: Fence): Promise<void>;
  /** Moves attempts that are due after `latest` to `now`: the clock was set back. Timers keep their time. */
  advance(now: number, latest: number): Promise<void>;
}

export interface DeliveryChange extends Pick<DeliveryRow, 'event' | 'attempts'> {
  /** The time of the next attempt; -1 for never. Absent: unchanged. */
  readonly due?: number;
  readonly error?: string;
}

export interface ScheduleRow {
  /** `extension/schedule`. */
  readonly name: string;
  /** Identifies the schedule's content: a change makes it another schedule. */
  readonly spec: string;
  readonly next: number;
}

/** The wanted state of a schedule. */
export interface PlannedSchedule extends Pick<ScheduleRow, 'name' | 'spec'> {
  readonly handler: string;
  /** The key of its events. */
  readonly key: string;
  /** Its next run; null: there are no more runs. */
  readonly next: { readonly at: number; readonly event: NewEvent } | null;
  /** The latest time for its next run; a later one was planned while the clock was ahead. */
  readonly latest: number;
}

export interface ScheduleRows {
  list(): Promise<readonly ScheduleRow[]>;
  /**
   * In one commit: removes unwanted schedules and their timers, and plans the next run of schedules that are new, were due by `now`, or are
   * planned after `latest`. Drops earlier runs that have not begun. Keeps what another process has planned meanwhile.
   */
  plan(wanted: readonly PlannedSchedule[], now: number): Promise<void>;
}

/** Prepares events for writing. Throws `parameter_invalid` or `not_serialisable`. */
export type PrepareEvent = (topic: string, payload: object, options?: PublishOptions) => NewEvent;

export interface PreparationOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** `extension/method` of each handler that the manifests declare for an event. */
  handlers(topic: string, payload: object): readonly string[];
}

const MAX_KEY_LENGTH = 512;

export function preparesEvents({ clock, handlers }: PreparationOptions): PrepareEvent {
  return (topic, payload, { at, key = null, correlationId = null } = {}) => {
    checkOptions(topic, key, at);
    const now = clock.now();
    return {
      topic,
      payload,
      text: payloadText(topic, payload),
      key,
      correlationId,
      at: Math.max(now, Math.ceil(at ?? now)),
      due: at !== undefined && at > now ? Math.ceil(at) : 0,
      handlers: handlers(topic, payload),
    };
  };
}

function checkOptions(topic: string, key: string | null, at: number | undefined): void {
  if (key !== null && (typeof key !== 'string' || key === '' || key.length > MAX_KEY_LENGTH || key.includes('\0'))) {
    throw new PithError('parameter_invalid', `the key of '${topic}' must be a text of 1 to ${MAX_KEY_LENGTH} characters`);
  }
  if (at !== undefined && !Number.isSafeInteger(Math.ceil(at))) {
    throw new PithError('parameter_invalid', `the time of '${topic}' must be milliseconds since the epoch`);
  }
}

const MAX_BYTES = 256 * 1024;

/** Throws `not_serialisable` for a payload that would read back differently, `parameter_invalid` for one that is too long. */
function payloadText(topic: string, payload: unknown): string {
  const text = jsonText(payload, topic);
  if (!isLonger(text, MAX_BYTES)) return text;
  throw new PithError('parameter_invalid', `the payload of '${topic}' is longer than 256 KiB`, {
    cure: 'keep the text in a table or a file and publish where it is',
  });
}
