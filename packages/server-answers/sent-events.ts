import { type Timing, withIdle } from '@pith/promises';

/** Of a stream of server-sent events: nobody between keeps it, or holds it back. */
export const EVENT_STREAM = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
} as const;

/** So long nothing may come on a connection before what is between its ends is shown that it lives. */
export const HEARTBEAT_MS = 15_000;

const encoder = new TextEncoder();
/** A comment, which clients pass over. */
const HEARTBEAT = encoder.encode(': still here\n\n');

/** One event as a stream has it. `id`: where a reader goes on behind it. */
export function sentEvent(data: unknown, { event, id }: { readonly event?: string; readonly id?: string } = {}): Uint8Array {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`;
  return encoder.encode(`${head}data: ${JSON.stringify(data)}\n\n`);
}

/** The same events, with a comment between them where nothing comes for long. */
export async function* withHeartbeats(
  events: AsyncIterable<Uint8Array>,
  clock: Pick<Timing, 'after'>,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const event of withIdle(events, clock, HEARTBEAT_MS)) yield event === 'idle' ? HEARTBEAT : event;
}
