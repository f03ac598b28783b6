// POST /chat with { "text": "…" } is answered by a stream of events: `text` for each piece, then `end`.
import express from 'express';
import { createPith } from 'pith/embed';

const { MODEL = 'offline/librarian', OPENAI_API_KEY, OPENAI_BASE_URL, PORT = '3000' } = process.env;
const pith = await createPith({ skills: ['skills'], model: MODEL, env: { OPENAI_API_KEY, OPENAI_BASE_URL } });

const app = express();
app.post('/chat', express.json(), async (request, response) => {
  // Your login says who this is: a thread whose name clients choose is open to all of them.
  const user = request.get('x-user');
  const text = request.body?.text;
  if (!user) return response.status(401).end();
  if (!text || typeof text !== 'string') return response.status(400).end();

  const leaving = new AbortController();
  response.on('close', () => leaving.abort());
  const run = pith.run(text, { thread: user, signal: leaving.signal });

  response.set({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  const send = (/** @type {string} */ event, /** @type {unknown} */ data) =>
    response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  try {
    for await (const piece of run.text) send('text', piece);
    const { status } = await run.result;
    send('end', { status });
  } catch (/** @type {any} */ error) {
    console.error(error.message, error.cure ?? ''); // a client gets the code alone
    send('end', { status: 'failed', code: error.code });
  }
  response.end();
});

const server = app.listen(Number(PORT), '127.0.0.1', () => console.log('listening on', server.address()));

for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, async () => {
    server.keepAliveTimeout = 1; // connections end with their answers
    server.close();
    await pith.close(); // ends the runs, and so the answers
  });
