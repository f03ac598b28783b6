// POST /chat with { "text": "…" } is answered by a stream of events: `text` for each piece, then `end`.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { createPith } from 'pith/embed';

const { MODEL = 'offline/librarian', OPENAI_API_KEY, OPENAI_BASE_URL, PORT = '3000' } = process.env;
const pith = await createPith({ skills: ['skills'], model: MODEL, env: { OPENAI_API_KEY, OPENAI_BASE_URL } });

const app = new Hono();
app.post('/chat', async (context) => {
  // Your login says who this is: a thread whose name clients choose is open to all of them.
  const user = context.req.header('x-user');
  const text = (await context.req.json().catch(() => null))?.text;
  if (!user) return context.body(null, 401);
  if (!text || typeof text !== 'string') return context.body(null, 400);

  return streamSSE(context, async (stream) => {
    const leaving = new AbortController();
    stream.onAbort(() => leaving.abort());
    const run = pith.run(text, { thread: user, signal: leaving.signal });
    const send = (/** @type {string} */ event, /** @type {unknown} */ data) => stream.writeSSE({ event, data: JSON.stringify(data) });
    try {
      for await (const piece of run.text) await send('text', piece);
      const { status } = await run.result;
      await send('end', { status });
    } catch (/** @type {any} */ error) {
      console.error(error.message, error.cure ?? ''); // a client gets the code alone
      await send('end', { status: 'failed', code: error.code });
    }
  });
});

const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(PORT) }, (address) => console.log('listening on', address));

for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, async () => {
    if ('keepAliveTimeout' in server) server.keepAliveTimeout = 1; // connections end with their answers
    server.close();
    await pith.close(); // ends the runs, and so the answers
  });
