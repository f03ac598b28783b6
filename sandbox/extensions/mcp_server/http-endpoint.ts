import type { McpHttpHandler } from '@modelcontextprotocol/server';
import { messageOf, z, type ExtensionContext } from 'pith';
import { oncePromised } from '@pith/promises';
import { HttpUsers, type Route, type RouteAnswer, type RouteProvider, type RouteRequest } from 'pith/http';
import { announce, type Clients, connectedClients, serverFor } from './offer.ts';
import { type Person, Sessions } from './sessions.ts';

const PATH = '/mcp';
const MOST_BYTES = 4 * 1024 * 1024;

/** `/mcp`: the streamable HTTP of the protocol, with sessions for its older versions and without for the present one. */
export class HttpEndpoint implements RouteProvider {
  readonly #sessions: Sessions;
  readonly #present: () => Promise<McpHttpHandler>;

  constructor(private readonly context: ExtensionContext<{ readonly agent?: string | undefined }>) {
    const serve = async ({ userId, role, may }: Person) => {
      const users = context.find(HttpUsers)[0]!; // who asks over HTTP has it
      const agent = await users.agent(context.config.agent, role);
      return serverFor(context, { userId, asAdmin: may === 'admin', agent, agents: () => users.agents(role) });
    };
    this.#sessions = new Sessions(context.clock, serve);
    this.#present = oncePromised(async () => {
      const { createMcpHandler } = await import('@modelcontextprotocol/server');
      const handler = createMcpHandler(({ authInfo }) => serve(authInfo!.extra as Person & Record<string, unknown>), {
        legacy: 'reject',
        onerror: (error) => context.logger.warn('an MCP client', { error: messageOf(error) }),
      });
      context.own(() => handler.close());
      const withSessions = connectedClients(() => this.#sessions.servers());
      const clients: Clients = {
        skillsChanged() {
          handler.notify.resourcesChanged();
          withSessions.skillsChanged();
        },
        toolsChanged() {
          handler.notify.toolsChanged();
          withSessions.toolsChanged();
        },
      };
      context.own(announce(context, clients));
      return handler;
    });
    context.own(() => this.#sessions.close());
  }

  async routes(): Promise<readonly Route[]> {
    const about = { path: PATH, need: 'user', mostBytes: MOST_BYTES } as const;
    return [
      { ...about, method: 'POST', summary: 'Send a message of the Model Context Protocol', body: z.unknown() },
      { ...about, method: 'GET', summary: 'Listen to the messages of a session of the Model Context Protocol' },
      { ...about, method: 'DELETE', summary: 'End a session of the Model Context Protocol' },
    ];
  }

  async answer({ route, headers, body, caller, signal }: RouteRequest): Promise<RouteAnswer> {
    const { isLegacyRequest } = await import('@modelcontextprotocol/server');
    const handler = await this.#present();
    const [method = ''] = route.split(' ');
    const { userId, role, may } = caller!; // the need of the routes
    const person: Person = { userId, role, may };
    const request = new Request(`http://localhost${PATH}`, {
      method,
      headers,
      signal, // a client that leaves cancels its call
      ...(method === 'POST' && { body: JSON.stringify(body) }),
    });
    const isOlder = await isLegacyRequest(request, body);
    const response = isOlder
      ? await this.#sessions.answer(request, { person, body })
      : await handler.fetch(request, { parsedBody: body, authInfo: { token: '', clientId: userId, scopes: [], extra: { ...person } } });
    const headersOf = Object.fromEntries(response.headers);
    return { status: response.status, headers: headersOf, ...(response.body !== null && { body: partsOf(response.body, signal) }) };
  }
}

/** Ends at once when `signal` aborts, also while nothing comes. */
async function* partsOf(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const reader = body.getReader();
  const stop = (): void => void reader.cancel().catch(() => undefined); // it has ended by itself
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}
