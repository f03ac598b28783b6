import { type Clock, type JsonValue, PithError, type PublishOptions } from '../contract/index.ts';
import { isLonger, jsonText } from '../kernel/index.ts';
import type { Attempt } from './jobs/index.ts';

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

/** A delivery in memory; its event is read when it runs. */
export interface DeliveryRow {
  readonly event: number;
  readonly key: string | null;
  /** The number of failed attempts. */
  readonly attempts: number;
}

/** Deliveries by handler: an event, its deliveries and the jobs that work on them are one commit. A successful delivery is deleted; one that failed too often has the due time -1. */
export interface DeliveryRows {
  /** null: the delivery is over, or was dropped. */
  event(
    handler: string,
    id: number,
  ): Promise<(Pick<NewEvent, 'topic' | 'at'> & { readonly payload: JsonValue; readonly correlationId: string }) | null>;
  /** Rows that are due, and rows of events later than `after` that may run now; at most `mostDue` and `mostReady`. */
  load(
    handler: string,
    from: { readonly after: number; readonly now: number; readonly mostDue: number; readonly mostReady: number },
  ): Promise<{ readonly due: readonly DeliveryRow[]; readonly ready: readonly DeliveryRow[] }>;
  /** The first rows of a key that may run now. */
  ofKey(handler: string, key: string, limit: number): Promise<readonly DeliveryRow[]>;
  /** The rows of a key that wait for another attempt. */
  held(handler: string): Promise<readonly DeliveryRow[]>;
  /** `next`: the first due time after `now`. `isDue`: some may run now. */
  waiting(handler: string, now: number): Promise<{ readonly next: number | null; readonly isDue: boolean }>;
  /** How many events before `until` wait: those later than `recent`, and older ones. */
  missed(handler: string, until: number, recent: number): Promise<{ readonly recent: number; readonly old: number }>;
  /** Marks a row as successful. False: it was dropped. Rejects `lease_lost` where another process has the handler's job, as `change` does. */
  done(handler: string, event: number, attempt: Attempt): Promise<boolean>;
  /** Counts an attempt, or postpones the next one. False: it was dropped. */
  change(handler: string, change: DeliveryChange, attempt: Attempt): Promise<boolean>;
  /** Ends the handler's job where no delivery waits any more. False: some does. */
  end(handler: string, attempt: Attempt): Promise<boolean>;
  /**
   * Has the jobs of all handlers that have deliveries look for them: of former processes, and of jobs that somebody cancelled. Attempts that
   * are due after `latest` move to `now`, as the clock was set back; timers keep their time.
   */
  repair(now: number, latest: number): Promise<void>;
  /**
   * Notes which handlers are no longer declared. Deletes the deliveries of those noted 7 days ago, and events of 30 days ago unless a
   * delivery of them still waits.
   */
  tidy(declared: ReadonlySet<string>, now: number): Promise<void>;
  /** Newest first. */
  deadLetters(limit: number): Promise<readonly Readonly<{ handler: string; event: number; topic: string; error: string }>[]>;
  /** Deliveries that wait for handlers that no manifest declares. */
  orphans(declared: ReadonlySet<string>): Promise<readonly { readonly handler: string; readonly count: number }[]>;
}

export interface DeliveryChange extends Pick<DeliveryRow, 'event' | 'attempts'> {
  /** The time of the next attempt; -1 for never. Absent: unchanged. */
  readonly due?: number;
  readonly error?: string;
}

/** The tick of a schedule `extension/name`, whose handler is `extension/method`. */
export interface ScheduleTick extends Readonly<Record<'name' | 'handler', string>> {
  readonly job: Attempt;
  readonly at: number;
}

export interface ScheduleRows {
  /**
   * Publishes a tick, and ends its job in the same commit; earlier ticks of the schedule that have not begun are dropped. Does nothing where
   * another process has the job, or an older Pith has published the tick.
   */
  publish(tick: ScheduleTick, event: NewEvent): Promise<void>;
  /** Forgets what an older Pith has planned for other schedules than these. */
  endFormer(specs: ReadonlyMap<string, string>): Promise<void>;
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
