// POST with { "text": "…" } is answered by a stream of events: `text` for each piece, then `end`.
import { pith } from '../../pith.js';

/** @param {Request} request */
export async function POST(request) {
  // Your login says who this is: a thread whose name clients choose is open to all of them.
  const user = request.headers.get('x-user');
  const body = /** @type {{ text?: unknown } | null} */ (await request.json().catch(() => null));
  const text = body?.text;
  if (!user) return new Response(null, { status: 401 });
  if (!text || typeof text !== 'string') return new Response(null, { status: 400 });

  const run = pith.run(text, { thread: user, signal: request.signal });
  const events = ReadableStream.from(eventsOf(run)).pipeThrough(new TextEncoderStream());
  return new Response(events, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' } });
}

/** @param {import('pith/embed').Run} run */
async function* eventsOf(run) {
  try {
    for await (const piece of run.text) yield eventOf('text', piece);
    const { status } = await run.result;
    yield eventOf('end', { status });
  } catch (/** @type {any} */ error) {
    console.error(error.message, error.cure ?? ''); // a client gets the code alone
    yield eventOf('end', { status: 'failed', code: error.code });
  }
}

const eventOf = (/** @type {string} */ event, /** @type {unknown} */ data) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
