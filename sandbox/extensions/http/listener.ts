import { serve, type HttpBindings, type ServerType } from '@hono/node-server';
import { Hono } from 'hono';
import { codeOf, messageOf, PithError, type Logger, type Remote } from 'pith';
import { clientAddress } from './client-address.ts';
import type { Config } from './config.ts';
import type { HttpRequest, HttpResponse, RouteProvider } from './contract.ts';

export interface ListenerOptions {
  readonly config: Config;
  readonly port: number;
  readonly routes: () => readonly Remote<RouteProvider>[];
  readonly logger: Logger;
  readonly listening: (port: number) => void;
}

const LOCAL_NAMES = ['localhost', '127.0.0.1', '::1'];
const NOT_FOUND: HttpResponse = { status: 404, body: 'not found' };

/** Takes requests until `signal` aborts. Rejects `port_taken` where something listens there already. */
export async function listen(options: ListenerOptions, signal: AbortSignal): Promise<void> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.all('*', async (context) => {
    const {
      status,
      headers = {},
      body = '',
    } = await answerTo(options, context.req.raw, context.env.incoming.socket.remoteAddress ?? '', signal);
    return new Response(body, {
      status,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff', ...headers },
    });
  });
  await new Promise<void>((resolve, reject) => {
    const { host } = options.config;
    const server: ServerType = serve({ fetch: app.fetch, hostname: host, port: options.port }, ({ port }) => options.listening(port));
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
      if ('closeAllConnections' in server) server.closeAllConnections();
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

async function answerTo(
  { config, routes, logger }: ListenerOptions,
  request: Request,
  peer: string,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const url = new URL(request.url);
  // Names that others chose, as a page that lets its own name lead to this machine does.
  if (![...LOCAL_NAMES, config.host, ...config.hosts].includes(url.hostname.replace(/^\[|\]$/g, '')))
    return { status: 421, body: 'this name is not served here' };
  if (url.pathname === '/health') return { status: 200, body: 'ok' };
  const found = await providerOf(routes(), url.pathname, logger);
  if (found === null) return NOT_FOUND;
  const { provider, mostBytes } = found;
  try {
    const { bytes, tooLarge } = await bodyOf(request, mostBytes);
    const headers = Object.fromEntries(request.headers.entries());
    const asked: HttpRequest = {
      method: request.method,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams.entries()),
      headers,
      body: Buffer.from(bytes).toString('base64'),
      tooLarge,
      address: clientAddress(peer, headers['x-forwarded-for'], config.trusted_proxies),
    };
    return await provider.answer(asked, signal);
  } catch (error) {
    logger.error('a request was not answered', { extension: provider.extensionId, method: request.method, reason: messageOf(error) });
    return { status: 500, body: 'something went wrong' };
  }
}

/** Who answers below this path; null: nobody does. One that cannot say costs nothing but itself. */
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

async function bodyOf(request: Request, most: number): Promise<{ readonly bytes: Uint8Array; readonly tooLarge: boolean }> {
  if (Number(request.headers.get('content-length') ?? 0) > most) return { bytes: new Uint8Array(), tooLarge: true };
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    length += part.length;
    if (length > most) return { bytes: new Uint8Array(), tooLarge: true };
    parts.push(part);
  }
  return { bytes: Buffer.concat(parts), tooLarge: false };
}
