import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface WebServer {
  readonly origin: string;
  /** `host:port` of it. */
  readonly host: string;
  /** Methods and paths in the order of the requests. */
  readonly asked: string[];
  readonly requests: (Pick<IncomingMessage, 'headers'> & { readonly body: string })[];
}

/** A server on loopback that ends with the test. */
export async function webServer(answer: RequestListener): Promise<WebServer> {
  const asked: string[] = [];
  const requests: WebServer['requests'] = [];
  const server = createServer(async (request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    requests.push({ headers: request.headers, body: Buffer.concat(pieces).toString() });
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin: `http://${host}`, host, asked, requests };
}

/** Answers each path with `[type, body]`, everything else with 404. */
export const pages =
  (table: Readonly<Record<string, readonly [type: string, body: string | Buffer]>>): RequestListener =>
  (request, response) => {
    const page = table[request.url ?? ''];
    if (page === undefined) response.writeHead(404).end('nothing');
    else response.writeHead(200, page[0] === '' ? {} : { 'content-type': page[0] }).end(page[1]);
  };
