import type { McpHttpHandler } from '@modelcontextprotocol/server';
import { messageOf, type ExtensionContext } from 'pith';
import { oncePromised } from '@pith/promises';
import { agentFor, announce, serverFor } from './offer.ts';
import { Sessions } from './sessions.ts';

/** What the listener has checked: who asks, and that the body is JSON. */
export interface Asked {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly userId: string;
}

/** `/mcp`: the streamable HTTP of the protocol, with sessions for its older versions and without for the present one. */
export class HttpEndpoint {
  readonly #sessions: Sessions;
  readonly #present: () => Promise<McpHttpHandler>;

  constructor(private readonly context: ExtensionContext<{ readonly agent?: string | undefined }>) {
    const serve = async (userId: string) =>
      serverFor(context, { userId, agent: await agentFor(context, context.config.agent, new AbortController().signal) });
    this.#sessions = new Sessions(context.clock, serve);
    this.#present = oncePromised(async () => {
      const { createMcpHandler } = await import('@modelcontextprotocol/server');
      const handler = createMcpHandler(({ authInfo }) => serve(authInfo!.clientId), {
        legacy: 'reject',
        onerror: (error) => context.logger.warn('an MCP client', { error: messageOf(error) }),
      });
      context.own(() => handler.close());
      context.own(
        announce(context, () => {
          handler.notify.resourcesChanged();
          return this.#sessions.servers();
        }),
      );
      return handler;
    });
    context.own(() => this.#sessions.close());
  }

  /** A body that streams ends when `signal` aborts, or when its reader leaves. */
  async answer({ method, headers, body, userId }: Asked, signal: AbortSignal): Promise<Response> {
    const { isLegacyRequest } = await import('@modelcontextprotocol/server');
    const handler = await this.#present();
    const request = new Request('http://localhost/mcp', {
      method,
      headers,
      signal,
      ...(method === 'POST' && { body: JSON.stringify(body) }),
    });
    if (await isLegacyRequest(request, body)) return this.#sessions.answer(request, { userId, body });
    return handler.fetch(request, { parsedBody: body, authInfo: { token: '', clientId: userId, scopes: [] } });
  }
}
