import { WINDOW } from './streams.ts';

/** The first element of a message: its kind. */
export const KIND = { call: 0, stream: 1, result: 2, error: 3, abort: 4, part: 5, credit: 6, note: 7, ping: 8, pong: 9 } as const;

const MOST_NAME = 200;

/** A received message, checked. */
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

/** The message in received data; undefined for anything else. */
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

export interface Ask {
  readonly operation: string;
  readonly args: readonly unknown[];
  readonly correlationId: string | undefined;
}

/** A call, a stream or a notification for the wire. undefined values at the end are left out, since JSON has none. */
export function askMessage(kind: number, id: number, { operation, args, correlationId }: Ask): unknown[] {
  return withoutEnd([kind, id, operation, withoutEnd(args), correlationId]);
}

/** The answer of a call for the wire. */
export function answerMessage(kind: number, id: number, value?: unknown): unknown[] {
  return withoutEnd([kind, id, value]);
}

function withoutEnd(list: readonly unknown[]): unknown[] {
  return list.slice(0, list.findLastIndex((each) => each !== undefined) + 1);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
