import { DEEPEST_VALUE, Measure } from '../calls/data-bounds.ts';
import { WINDOW } from './streams.ts';

/** The first word of a message: what it is. */
export const KIND = { call: 0, stream: 1, result: 2, error: 3, abort: 4, part: 5, credit: 6, note: 7, ping: 8, pong: 9 } as const;

const MOST_NAME = 200;

/** What came over a socket, checked. */
export type Message =
  | {
      readonly kind: typeof KIND.call | typeof KIND.stream | typeof KIND.note;
      readonly id: number;
      readonly operation: string;
      readonly args: readonly unknown[];
      readonly correlationId: string | undefined;
    }
  | {
      readonly kind: typeof KIND.result | typeof KIND.part | typeof KIND.error | typeof KIND.abort;
      readonly id: number;
      readonly value: unknown;
    }
  | { readonly kind: typeof KIND.credit; readonly id: number; readonly parts: number }
  | { readonly kind: typeof KIND.ping | typeof KIND.pong };

/** The message in what was sent; undefined for what is none. */
export function readMessage(sent: unknown): Message | undefined {
  if (!Array.isArray(sent)) return undefined;
  const [kind, id, first, second, correlation] = sent as readonly unknown[];
  if (kind === KIND.ping || kind === KIND.pong) return { kind };
  if (!isCount(id)) return undefined;
  switch (kind) {
    case KIND.call:
    case KIND.stream:
    case KIND.note: {
      if (typeof first !== 'string' || first.length > MOST_NAME || !Array.isArray(second)) return undefined;
      const correlationId = typeof correlation === 'string' && correlation.length <= MOST_NAME ? correlation : undefined;
      return { kind, id, operation: first, args: second as readonly unknown[], correlationId };
    }
    case KIND.result:
    case KIND.part:
    case KIND.error:
    case KIND.abort:
      return { kind, id, value: first };
    case KIND.credit:
      return isCount(first) && first <= WINDOW ? { kind, id, parts: first } : undefined;
    default:
      return undefined;
  }
}

/** Room for what a message itself and the shape of an answer add to a value. */
const DEEPEST = DEEPEST_VALUE + 8;

/**
 * What a process sent, as data that nothing can stumble over: bounded before anybody walks it, lists without holes and without names of
 * their own. Changes `value`, which nobody else has seen. Throws in words that end a sentence.
 */
export function plainData(value: unknown): unknown {
  return plain(value, 0, new Measure());
}

function plain(value: unknown, depth: number, measure: Measure): unknown {
  within(measure.part());
  if (typeof value === 'string') within(measure.text(value.length));
  if (typeof value !== 'object' || value === null) return value;
  if (depth > DEEPEST) throw new Error(`it is deeper than ${DEEPEST_VALUE}`);
  if (Array.isArray(value)) {
    within(measure.part(value.length));
    const list: unknown[] = Array.from({ length: value.length });
    for (let at = 0; at < list.length; at += 1) list[at] = plain(value[at], depth + 1, measure);
    return list;
  }
  if (Object.getPrototypeOf(value) === Object.prototype) {
    const fields = value as Record<string, unknown>;
    for (const key in fields) {
      within(measure.text(key.length));
      const part = fields[key];
      const checked = plain(part, depth + 1, measure);
      if (checked !== part) fields[key] = checked;
    }
    return value;
  }
  return opaque(value, depth, measure);
}

/** What JSON cannot say is left as it is, and counted. */
function opaque(value: object, depth: number, measure: Measure): object {
  if (ArrayBuffer.isView(value)) within(measure.part(value.byteLength));
  else if (value instanceof Map) for (const [key, part] of value) plain([key, part], depth + 1, measure);
  else if (value instanceof Set) for (const part of value) plain(part, depth + 1, measure);
  else if (value instanceof Error) plain([value.message, value.cause], depth + 1, measure);
  return value;
}

function within(why: string | undefined): void {
  if (why !== undefined) throw new Error(`it ${why}`);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
