// Serves the route by Node alone. A framework with routes of this kind does this for you, but for the end of the process.
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { POST } from './app/chat/route.js';
import { pith } from './pith.js';

const server = createServer(async (incoming, outgoing) => {
  const leaving = new AbortController();
  outgoing.on('close', () => leaving.abort());
  if (incoming.method !== 'POST' || incoming.url !== '/chat') return outgoing.writeHead(404).end();
  const headers = /** @type {Record<string, string>} */ (incoming.headers);
  const body = Readable.toWeb(incoming);
  const request = new Request('http://localhost/chat', { method: 'POST', headers, body, signal: leaving.signal, duplex: 'half' });
  const response = await POST(request).catch((error) => {
    console.error(error);
    return new Response(null, { status: 500 });
  });
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) return outgoing.end();
  await pipeline(response.body, outgoing).catch(() => leaving.abort()); // the client has left
});

const { PORT = '3000' } = process.env;
server.listen(Number(PORT), '127.0.0.1', () => console.log('listening on', server.address()));

for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, async () => {
    server.keepAliveTimeout = 1; // connections end with their answers
    server.close();
    await pith.close(); // ends the runs, and so the answers
  });
