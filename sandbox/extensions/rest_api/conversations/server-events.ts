import type { JsonValue } from 'pith';
import type { RouteAnswer } from 'pith/http';

const encoder = new TextEncoder();

/** One event of a stream; `id`: where a reader goes on behind it. */
export function serverEvent(event: string, data: JsonValue, id?: string): Uint8Array {
  return encoder.encode(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

export function streamed(body: AsyncIterable<Uint8Array>): RouteAnswer {
  return { status: 200, headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' }, body };
}
