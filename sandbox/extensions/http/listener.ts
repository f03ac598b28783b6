import { serve, type HttpBindings, type ServerType } from '@hono/node-server';
import { Hono } from 'hono';
import { domainToASCII } from 'node:url';
import { codeOf, messageOf, PithError, type Clock, type Logger, type Remote } from 'pith';
import { isWithin, plainAddress, plainRange } from '@pith/address-ranges';
import { underTraceparent } from '@pith/genai-spans';
import type { Config } from './config.ts';
import type { HttpRequest, HttpResponse, RouteProvider } from './contract.ts';

export interface ListenerOptions {
  readonly config: Config;
  readonly port: number;
  readonly routes: () => readonly Remote<RouteProvider>[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly listening: (port: number) => void;
}

/** The server type of `serve` without HTTP/2. */
type Server = Extract<ServerType, { closeAllConnections(): void }>;

const LOCAL_NAMES = ['localhost', '127.0.0.1', '::1'];
/** The time limit for a body: a slow one would keep its connection open for minutes. */
const BODY_MS = 30_000;
const NOT_FOUND: HttpResponse = { status: 404, body: 'not found' };

/** Accepts requests until `signal` aborts. Rejects `port_taken` where another program listens. */
export async function listen(options: ListenerOptions, signal: AbortSignal): Promise<void> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.all('*', async (context) => {
    const peer = context.env.incoming.socket.remoteAddress ?? '';
    const { status, headers, body } = await answerTo(options, context.req.raw, peer, signal);
    return new Response(body, { status, headers: headersOf(headers) });
  });
  await new Promise<void>((resolve, reject) => {
    const { host } = options.config;
    const serverOptions = {
      headersTimeout: options.config.header_seconds * 1000,
      requestTimeout: options.config.header_seconds * 1000 + BODY_MS,
      connectionsCheckingInterval: 1000,
    };
    const server = serve(
      // Others in this process keep the Request and Response of Node.
      { fetch: app.fetch, hostname: host, port: options.port, serverOptions, overrideGlobalObjects: false },
      ({ port }) => options.listening(port),
    ) as Server;
    holdConnections(server, options);
    server.on('error', (error) =>
      reject(
        codeOf(error, '') === 'EADDRINUSE'
          ? new PithError('port_taken', `port ${options.port} of ${host} is taken`, {
              cure: 'stop what listens there, or choose another: pith serve --port N',
            })
          : error,
      ),
    );
    const stop = (): void => {
      server.close(() => resolve());
      server.closeAllConnections();
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

/** Limits connections. Each uses a descriptor, and a process without free ones cannot open a file. Excess ones are closed at once. */
function holdConnections(server: Server, { config, logger }: Pick<ListenerOptions, 'config' | 'logger'>): void {
  const { connections, connections_per_address: perAddress, trusted_proxies: proxies } = config;
  for (const text of proxies)
    if (plainRange(text) === null) logger.warn('extensions.http.trusted_proxies does not name an address or range', { text });
  server.maxConnections = connections;
  let isSaid = false;
  const refuse = (why: string, address: string | undefined): void => {
    if (!isSaid) logger.warn('connections were closed: too many at once', { why, address: address ?? '' });
    isSaid = true; // once, so that a flood of connections does not flood the log
  };
  server.on('drop', (dropped) => refuse(`${connections} in all`, dropped?.remoteAddress));
  const open = new Map<string, number>();
  server.on('connection', (socket) => {
    const address = plainAddress(socket.remoteAddress ?? '') ?? '';
    const count = (open.get(address) ?? 0) + 1;
    if (count > perAddress && !isWithin(address, proxies)) {
      refuse(`${perAddress} of one address`, address);
      socket.destroy();
      return;
    }
    open.set(address, count);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
      if (open.size === 0) isSaid = false;
    });
  });
}

async function answerTo(
  { config, routes, clock, logger }: ListenerOptions,
  request: Request,
  peer: string,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const url = new URL(request.url);
  // A web page can point a name of its choice at this machine, so only known names are served.
  if (![...LOCAL_NAMES, config.host, ...config.hosts].map(plainName).includes(plainName(url.hostname)))
    return { status: 421, body: 'this name is not served here' };
  if (url.pathname === '/health') return { status: 200, body: 'ok' };
  const found = await providerOf(routes(), url.pathname, logger);
  if (found === null) return NOT_FOUND;
  const { provider, mostBytes } = found;
  const read = await bodyOf(request, mostBytes, clock).catch(() => null); // the sender is gone
  if (read === null) return { status: 408, headers: { connection: 'close' }, body: 'the body did not arrive' };
  const headers = Object.fromEntries(request.headers.entries());
  const asked: HttpRequest = {
    method: request.method,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams.entries()),
    headers,
    body: Buffer.from(read.bytes).toString('base64'),
    tooLarge: read.tooLarge,
    address: clientAddress(peer, headers['x-forwarded-for'], config.trusted_proxies),
  };
  try {
    return checked(await underTraceparent(headers['traceparent'], () => provider.answer(asked, signal)));
  } catch (error) {
    logger.error('a request was not answered', { extension: provider.extensionId, method: request.method, reason: messageOf(error) });
    return { status: 500, body: 'something went wrong' };
  }
}

/** Throws for a response that cannot be sent. */
function checked(response: HttpResponse): HttpResponse {
  const { status } = response;
  if (!Number.isInteger(status) || status < 200 || status > 599) throw new RangeError(`no status of an answer: ${status}`);
  headersOf(response.headers);
  return response;
}

function headersOf(given: HttpResponse['headers'] = {}): Headers {
  const headers = new Headers({ 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' });
  for (const [name, value] of Object.entries(given)) headers.set(name, value);
  return headers;
}

/** A host in the form of URLs: in lower case, without brackets. */
function plainName(host: string): string {
  return plainAddress(host) ?? domainToASCII(host);
}

/** The first provider with a prefix of this path; null: there is none. A failing provider is skipped. */
async function providerOf(providers: readonly Remote<RouteProvider>[], path: string, logger: Logger) {
  for (const provider of providers) {
    try {
      const { prefixes, mostBytes } = await provider.routes();
      if (prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`))) return { provider, mostBytes };
    } catch (error) {
      logger.warn('an extension does not say which requests it answers', { extension: provider.extensionId, reason: messageOf(error) });
    }
  }
  return null;
}

interface ReadBody {
  readonly bytes: Uint8Array;
  readonly tooLarge: boolean;
}

/** null: it was too slow. Rejects where its connection was closed. */
async function bodyOf(request: Request, most: number, clock: Clock): Promise<ReadBody | null> {
  const tooLarge: ReadBody = { bytes: new Uint8Array(), tooLarge: true };
  if (Number(request.headers.get('content-length') ?? 0) > most) return tooLarge;
  const parts: Uint8Array[] = [];
  let length = 0;
  let isLate = false;
  const reader = request.body?.getReader();
  const cancel = clock.after(BODY_MS, () => {
    isLate = true;
    void reader?.cancel();
  });
  try {
    for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
      length += part.value.length;
      if (length > most) return tooLarge;
      parts.push(part.value);
    }
    return isLate ? null : { bytes: Buffer.concat(parts), tooLarge: false };
  } finally {
    cancel();
  }
}

/** The client's address: the peer's, or behind trusted proxies the nearest address that is not one of them. */
export function clientAddress(peer: string, forwarded: string | undefined, proxies: readonly string[]): string {
  let nearest = plainAddress(peer) ?? peer;
  for (const named of (forwarded ?? '').split(',').toReversed()) {
    const address = plainAddress(named);
    if (address === null || !isWithin(nearest, proxies)) break;
    nearest = address;
  }
  return nearest;
}
