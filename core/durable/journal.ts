import { type Clock, type JsonValue, PithError, type PublishOptions } from '../contract/index.ts';
import type { Fence } from '../store/index.ts';

/** An event that is ready to be written. */
export interface NewEvent {
  readonly topic: string;
  readonly payload: object;
  /** The payload as JSON. */
  readonly text: string;
  /** Its deliveries keep their order among those of the same key. */
  readonly key: string | null;
  readonly correlationId: string | null;
  readonly at: number;
  /** When it is delivered; 0 for now. */
  readonly due: number;
  /** `extension/method` of each handler that it is for. */
  readonly handlers: readonly string[];
}

export interface WrittenEvent extends Pick<NewEvent, 'topic' | 'payload' | 'handlers'> {
  readonly id: string;
}

/** Durable events. An event and its deliveries are one commit; the order of ids is that of commits. */
export interface Journal {
  /** null: it has been forgotten. */
  event(id: number): Promise<(Pick<NewEvent, 'topic' | 'at'> & { readonly payload: JsonValue; readonly correlationId: string }) | null>;
  /** A number that each write of another process changes. */
  revision(): Promise<number>;
  /**
   * Notes which handlers are declared no more; forgets deliveries to those of which that was noted before `goneBefore`, and events of before
   * `eventsBefore` unless they still wait.
   */
  tidy(
    declared: ReadonlySet<string>,
    times: { readonly now: number; readonly goneBefore: number; readonly eventsBefore: number },
  ): Promise<void>;
  /** The newest first. */
  deadLetters(limit: number): Promise<readonly Readonly<{ handler: string; event: number; topic: string; error: string }>[]>;
  /** What waits for handlers that no manifest declares. */
  orphans(declared: ReadonlySet<string>): Promise<readonly { readonly handler: string; readonly count: number }[]>;
}

/** One delivery as a worker keeps it; its event is read when it runs. */
export interface DeliveryRow {
  readonly event: number;
  readonly key: string | null;
  /** Those that failed. */
  readonly attempts: number;
}

/** Deliveries by handler. A delivery that succeeded is gone; one that failed too often has the due time -1. */
export interface DeliveryRows {
  /** Those whose time has come, and those of events later than `after` that may run now; at most `mostDue` and `mostReady`. */
  load(
    handler: string,
    from: { readonly after: number; readonly now: number; readonly mostDue: number; readonly mostReady: number },
  ): Promise<{ readonly due: readonly DeliveryRow[]; readonly ready: readonly DeliveryRow[] }>;
  /** The first of those of a key that may run now. */
  ofKey(handler: string, key: string, limit: number): Promise<readonly DeliveryRow[]>;
  /** Those of a key that wait for another attempt. */
  held(handler: string): Promise<readonly DeliveryRow[]>;
  /** `next`: the first due time after `now`. `isOverdue`: some time has come. `isReady`: some may run now. */
  waiting(handler: string, now: number): Promise<{ readonly next: number | null; readonly isOverdue: boolean; readonly isReady: boolean }>;
  /** How many events of up to `until` wait, by whether they are later than `recent`. */
  missed(handler: string, until: number, recent: number): Promise<{ readonly recent: number; readonly old: number }>;
  /** It succeeded. Changes nothing without the lease, as `change` does. */
  done(handler: string, event: number, fence: Fence): Promise<void>;
  /** Counts an attempt, or puts off the next one. */
  change(handler: string, change: DeliveryChange, fence: Fence): Promise<void>;
  /** Attempts that would wait longer than until `latest` are made at `now`: the clock was set back. Timers keep their time. */
  advance(now: number, latest: number): Promise<void>;
}

export interface DeliveryChange extends Pick<DeliveryRow, 'event' | 'attempts'> {
  /** Of the next attempt; -1 for never. Absent: as it was. */
  readonly due?: number;
  readonly error?: string;
}

export interface ScheduleRow {
  /** `extension/schedule`. */
  readonly name: string;
  /** What makes it another schedule. */
  readonly spec: string;
  readonly next: number;
}

/** A schedule as it shall be. */
export interface PlannedSchedule extends Pick<ScheduleRow, 'name' | 'spec'> {
  readonly handler: string;
  /** Of its events. */
  readonly key: string;
  /** Its next run; null: there is none any more. */
  readonly next: { readonly at: number; readonly event: NewEvent } | null;
  /** Its next run is not later; one that is was planned while the clock was ahead. */
  readonly latest: number;
}

export interface ScheduleRows {
  list(): Promise<readonly ScheduleRow[]>;
  /**
   * One commit: removes schedules that are not wanted and their timers, and plans the next run of those that are new or whose run was due by
   * `now` or is later than `latest`. Runs before that one which nobody has begun are not needed any more. What another process has planned
   * meanwhile stays.
   */
  plan(wanted: readonly PlannedSchedule[], now: number): Promise<void>;
}

/** Makes events ready to be written. Throws `parameter_invalid` or `not_serialisable`. */
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
const DEEPEST = 100;

/** The payload of a durable topic as JSON. Throws `not_serialisable` for what would read back as something else, `parameter_invalid` for what is too long. */
function payloadText(topic: string, payload: unknown): string {
  check(payload, topic, 0);
  const text = JSON.stringify(payload);
  if (text.length * 3 > MAX_BYTES && Buffer.byteLength(text) > MAX_BYTES) {
    throw new PithError('parameter_invalid', `the payload of '${topic}' is longer than 256 KiB`, {
      cure: 'keep the text in a table or a file and publish where it is',
    });
  }
  return text;
}

function check(value: unknown, path: string, depth: number): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return;
    case 'number':
      if (!Number.isFinite(value)) throw refused(path, 'is not finite');
      return;
    case 'object':
      if (value !== null) checkParts(value, path, depth);
      return;
    default:
      throw refused(path, `is ${typeof value}`);
  }
}

function checkParts(value: object, path: string, depth: number): void {
  if (depth > DEEPEST) throw refused(path.slice(0, 200), 'is a cycle or too deep');
  const prototype: unknown = Object.getPrototypeOf(value);
  if (Array.isArray(value)) value.forEach((part, index) => check(part, `${path}.${index}`, depth + 1));
  else if (prototype === Object.prototype || prototype === null) {
    for (const key in value) {
      const part = (value as Record<string, unknown>)[key];
      if (part !== undefined) check(part, `${path}.${key}`, depth + 1);
    }
  } else throw refused(path, 'is not a plain object');
}

function refused(path: string, why: string): PithError {
  return new PithError('not_serialisable', `${path} ${why}, which is not JSON`, {
    cure: 'publish text, numbers, booleans, null, lists and plain objects',
  });
}
