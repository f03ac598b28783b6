import { randomUUID } from 'node:crypto';
import type { Clock } from 'pith';
import type { Caller } from 'pith/http';
import type { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';

/** Of one person: more end the one that was quiet for longest. */
const MOST_OF_ONE = 20;
/** Longer than a call takes. */
const IDLE_MS = 24 * 3_600_000;

/** Whose a session is. */
export type Person = Pick<Caller, 'userId' | 'role' | 'may'>;

interface Session {
  readonly person: Person;
  readonly mcp: McpServer;
  readonly transport: WebStandardStreamableHTTPServerTransport;
}

/** What a client posts, besides the request itself. */
export interface PostedMessage {
  readonly person: Person;
  readonly body: unknown;
}

/** Conversations over HTTP with clients of the protocol's versions that have sessions. Each belongs to the person who began it. */
export class Sessions {
  /** The one that was used last is last. */
  readonly #open = new Map<string, Session & { forget(): void }>();

  constructor(
    private readonly clock: Clock,
    private readonly serverFor: (person: Person) => Promise<McpServer>,
  ) {}

  async answer(request: Request, { person, body }: PostedMessage): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    if (id === null) return this.#begin(request, { person, body });
    const session = this.#open.get(id);
    if (session === undefined || !isOf(session, person)) return unknown(); // that of another person is as unknown as none
    this.#keep(id, session);
    return session.transport.handleRequest(request, { parsedBody: body });
  }

  servers(): readonly McpServer[] {
    return [...this.#open.values()].map(({ mcp }) => mcp);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((id) => this.#end(id)));
  }

  async #begin(request: Request, { person, body }: PostedMessage): Promise<Response> {
    const { WebStandardStreamableHTTPServerTransport } = await import('@modelcontextprotocol/server');
    const mcp = await this.serverFor(person);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => this.#keep(id, { person, mcp, transport }),
      onsessionclosed: (id) => this.#drop(id),
    });
    await mcp.connect(transport);
    const response = await transport.handleRequest(request, { parsedBody: body });
    if (transport.sessionId === undefined) await mcp.close(); // the request began no session
    return response;
  }

  #keep(id: string, session: Session): void {
    this.#drop(id);
    const forget = this.clock.after(IDLE_MS, () => void this.#end(id));
    this.#open.set(id, { ...session, forget });
    const own = [...this.#open].filter(([, each]) => isOf(each, session.person));
    for (const [oldest] of own.slice(0, -MOST_OF_ONE)) void this.#end(oldest);
  }

  #drop(id: string): void {
    this.#open.get(id)?.forget();
    this.#open.delete(id);
  }

  async #end(id: string): Promise<void> {
    const session = this.#open.get(id);
    this.#drop(id);
    await session?.mcp.close();
  }
}

/** A role that has changed since needs a new session. */
function isOf({ person }: Session, { userId, role, may }: Person): boolean {
  return person.userId === userId && person.role === role && person.may === may;
}

function unknown(): Response {
  return Response.json({ jsonrpc: '2.0', error: { code: -32_001, message: 'Session not found' }, id: null }, { status: 404 });
}
