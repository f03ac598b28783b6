import { activeTraceparent } from '@pith/genai-spans';
import { type Clock, PithError, type PublishOptions } from '../contract/index.ts';
import { isLonger, jsonText } from '../kernel/index.ts';

/** An event that is ready to be written. */
export interface NewEvent {
  readonly topic: string;
  readonly payload: object;
  /** The payload as JSON. */
  readonly text: string;
  /** Deliveries with the same key keep their order; null: no order. */
  readonly key: string | null;
  readonly correlationId: string | null;
  /** The span that published it, as W3C writes it; null: nobody collected spans there. */
  readonly traceparent: string | null;
  readonly at: number;
  /** When it is delivered; 0 for now. */
  readonly due: number;
  /** `extension/method` of each handler that gets it. */
  readonly handlers: readonly string[];
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
      traceparent: activeTraceparent() ?? null,
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
