import { WINDOW } from './streams.ts';

/** The first element of a message: its kind. */
export const KIND = { call: 0, stream: 1, result: 2, error: 3, abort: 4, part: 5, credit: 6, note: 7, ping: 8, pong: 9 } as const;

const MOST_NAME = 200;

/** What a call belongs to. */
export interface Cause {
  /** Of the message that led to it. */
  readonly correlationId?: string | undefined;
  /** The span below which it is, as W3C writes it. */
  readonly traceparent?: string | undefined;
}

/** A received message, checked. */
export type Message =
  | {
      readonly kind: typeof KIND.call | typeof KIND.stream | typeof KIND.note;
      readonly id: number;
      readonly operation: string;
      readonly args: readonly unknown[];
      readonly cause: Cause;
    }
  | {
      readonly kind: typeof KIND.result | typeof KIND.part | typeof KIND.error | typeof KIND.abort;
      readonly id: number;
      readonly value: unknown;
    }
  | { readonly kind: typeof KIND.credit; readonly id: number; readonly parts: number }
  | { readonly kind: typeof KIND.ping | typeof KIND.pong };

/** The message in received data; undefined for anything else. */
export function readMessage(sent: unknown): Message | undefined {
  if (!Array.isArray(sent)) return undefined;
  const [kind, id, first, second, correlation, traceparent] = sent as readonly unknown[];
  if (kind === KIND.ping || kind === KIND.pong) return { kind };
  if (!isCount(id)) return undefined;
  switch (kind) {
    case KIND.call:
    case KIND.stream:
    case KIND.note: {
      if (typeof first !== 'string' || first.length > MOST_NAME || !Array.isArray(second)) return undefined;
      const cause = { correlationId: nameOf(correlation), traceparent: nameOf(traceparent) };
      return { kind, id, operation: first, args: second as readonly unknown[], cause };
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

export interface Ask {
  readonly operation: string;
  readonly args: readonly unknown[];
  readonly cause: Cause;
}

/** A call, a stream or a notification for the wire. undefined values at the end are left out, since JSON has none. */
export function askMessage(kind: number, id: number, { operation, args, cause }: Ask): unknown[] {
  return withoutEnd([kind, id, operation, withoutEnd(args), cause.correlationId, cause.traceparent]);
}

/** The answer of a call for the wire. */
export function answerMessage(kind: number, id: number, value?: unknown): unknown[] {
  return withoutEnd([kind, id, value]);
}

function withoutEnd(list: readonly unknown[]): unknown[] {
  return list.slice(0, list.findLastIndex((each) => each !== undefined) + 1);
}

function nameOf(sent: unknown): string | undefined {
  return typeof sent === 'string' && sent.length <= MOST_NAME ? sent : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
