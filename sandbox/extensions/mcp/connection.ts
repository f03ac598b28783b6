import type { Client, FetchLike } from '@modelcontextprotocol/client';
import { messageOf, PithError, Places, type ExtensionContext } from 'pith';
import { printableLine } from '@pith/plain-text';
import { guardedFetch } from '@pith/guarded-fetch';
import type { ServerConfig } from './config.ts';
import { contained, type Containment } from './contained.ts';
import { KnownTools } from './known-tools.ts';
import { page, readTool, type ServerTool } from './listed-tool.ts';
import { filled, sendable, useOf } from './secrets.ts';

const CONNECT_MS = 10_000;
const LONGEST_PAUSE_MS = 60_000;
const MOST_TOOLS = 200;
const MOST_PAGES = 20;
const LONGEST_NAME = 100;

export interface ConnectionPorts {
  readonly context: ExtensionContext;
  readonly containment: Containment;
  /** The tools are others now. */
  changed(): void;
}

/** One server: connected again, later and later, whenever it goes away. */
export class Connection {
  readonly name: string;
  readonly config: ServerConfig;
  tools: readonly ServerTool[] = [];
  /** Tools that cannot be offered, by name, and why. */
  refused: ReadonlyMap<string, string> = new Map();
  readonly known: KnownTools;
  state: 'connecting' | 'connected' | 'failed' = 'connecting';
  reason: string | null = null;
  readonly #context: ExtensionContext;
  readonly #changed: () => void;
  #client: Client | null = null;
  readonly #containment: Containment;
  /** When the first attempt has ended, well or not. */
  readonly first: Promise<void>;
  /** When it has been closed, after `signal`. */
  readonly closed: Promise<void>;

  constructor(
    { name, config }: Pick<Connection, 'name' | 'config'>,
    { context, containment, changed }: ConnectionPorts,
    signal: AbortSignal,
  ) {
    this.name = name;
    this.config = config;
    this.#context = context;
    this.known = new KnownTools(context.kv);
    this.#containment = containment;
    this.#changed = changed;
    let tried = (): void => undefined;
    this.first = new Promise((resolve) => (tried = resolve));
    this.closed = this.#keep(signal, tried);
  }

  /** The client that answers now. Throws when there is none. */
  get client(): Client {
    if (this.#client) return this.#client;
    throw new Error(`the MCP server '${this.name}' cannot be reached: ${this.reason ?? 'it is being started'}`);
  }

  async #keep(signal: AbortSignal, tried: () => void): Promise<void> {
    const { clock, logger } = this.#context;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const begun = clock.now();
      try {
        this.reason = await this.#connected(signal, tried);
      } catch (error) {
        this.reason = reasonOf(error);
      }
      this.#client = null;
      this.state = 'failed';
      tried();
      if (signal.aborted) return;
      if (clock.now() - begun > LONGEST_PAUSE_MS) attempt = 0; // one that ends right after each start is left longer and longer
      logger.warn('an MCP server is not connected', { server: this.name, reason: this.reason });
      await clock.sleep(Math.min(LONGEST_PAUSE_MS, 1000 * 2 ** attempt), signal).catch(() => undefined); // ended: the loop sees it
    }
  }

  /** Resolves when the connection has ended, with the reason. */
  async #connected(signal: AbortSignal, tried: () => void): Promise<string> {
    const { Client } = await import('@modelcontextprotocol/client');
    const client = new Client({ name: 'pith', version: '1.0.0' }, { listChanged: { tools: { onChanged: () => void this.#list(client) } } });
    let end: (why: string) => void = () => undefined;
    const ended = new Promise<string>((resolve) => (end = resolve));
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the package has no other way
    client.onclose = () => end('it ended');
    const stop = (): void => end('it was stopped');
    try {
      this.state = 'connecting';
      await client.connect(await this.#transport(end), { timeout: CONNECT_MS, signal });
      this.#client = client;
      await this.#list(client);
      this.state = 'connected';
      this.reason = null;
      tried();
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      return await ended;
    } finally {
      signal.removeEventListener('abort', stop);
      await client.close().catch(() => undefined); // it is gone either way
    }
  }

  async #list(client: Client): Promise<void> {
    try {
      const found: unknown[] = [];
      let cursor: string | undefined;
      for (let at = 0; at < MOST_PAGES && found.length < MOST_TOOLS; at += 1) {
        const params = cursor === undefined ? {} : { cursor };
        const { tools, nextCursor } = await client.request({ method: 'tools/list', params }, page, { timeout: CONNECT_MS });
        found.push(...tools);
        cursor = nextCursor;
        if (cursor === undefined) break;
      }
      const tools = this.#read(found.slice(0, MOST_TOOLS));
      await this.known.listed(this.name, tools);
      const before = JSON.stringify(this.tools);
      this.tools = tools;
      if (JSON.stringify(this.tools) !== before) this.#changed();
    } catch (error) {
      this.#context.logger.warn('the tools of an MCP server cannot be listed', { server: this.name, reason: messageOf(error) });
      if (this.#client !== client || this.tools.length === 0) throw error;
    }
  }

  /** A malformed tool is left out; the others are offered. */
  #read(found: readonly unknown[]): readonly ServerTool[] {
    const refused = new Map<string, string>();
    const tools = found.flatMap((given, at) => {
      const tool = readTool(given);
      if (typeof tool !== 'string') return [tool];
      const { name } = (given ?? {}) as { readonly name?: unknown };
      refused.set(printableLine(typeof name === 'string' ? name.slice(0, LONGEST_NAME) : `number ${at + 1}`), printableLine(tool));
      return [];
    });
    for (const [tool, reason] of refused)
      if (!this.refused.has(tool))
        this.#context.logger.warn('a tool of an MCP server cannot be offered', { server: this.name, tool, reason });
    this.refused = refused;
    return tools;
  }

  /** `lost` is called with the reason when a server that was reached by HTTP is gone. */
  async #transport(lost: (why: string) => void) {
    const secret = (name: string) => this.#context.getSecret(name, useOf(this.name, this.config));
    if ('url' in this.config) {
      const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
      return new StreamableHTTPClientTransport(new URL(this.config.url), {
        requestInit: { headers: sendable(filled(this.config.headers, secret)) },
        fetch: serverFetch(this.config.url, lost),
      });
    }
    const { StdioClientTransport, getDefaultEnvironment } = await import('@modelcontextprotocol/client/stdio');
    const { command, args, env, cwd = workingFolder(this.#context.use(Places)) } = this.config;
    const inherited = getDefaultEnvironment();
    const searchPath = inherited['PATH'] ?? '/usr/bin:/bin';
    const program = await contained({ command, args }, await this.#containment.container(searchPath), { cwd, searchPath });
    return new StdioClientTransport({
      command: program.command,
      args: [...program.args],
      cwd,
      env: { ...inherited, ...filled(env, secret), ...(await this.#containment.mark()) },
      stderr: 'ignore',
      maxBufferSize: MOST_BYTES,
    });
  }
}

/** A server works on the project; where there is none, on the sandbox. */
function workingFolder({ project, sandbox }: Places): string {
  return project ?? sandbox;
}

function reasonOf(error: unknown): string {
  return error instanceof PithError && error.cure !== undefined ? `${messageOf(error)}; ${error.cure}` : messageOf(error);
}

/** The largest message that a server may send. */
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * `fetch` for the server at that address, and for no other. What means that the connection is over, such as a server that went away or
 * has forgotten it, is passed to `lost`. Headers, which may contain secrets, are never sent to another origin.
 */
function serverFetch(address: string, lost: (why: string) => void): FetchLike {
  const fetch = guardedFetch({ allow: [address], elsewhere: 'refused', maxBytes: Infinity }); // each message is counted below
  return async (url, init = {}) => {
    let response: Response;
    try {
      response = await fetch(url, { ...init, redirect: 'manual' }); // the package follows those within the origin
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw gone(`it cannot be reached: ${messageOf(error instanceof Error && error.cause ? error.cause : error)}`);
    }
    const why = refusal(response, new URL(url), init);
    if (why === null) return capped(response, gone);
    await response.body?.cancel();
    throw gone(why);
  };

  function gone(why: string): Error {
    lost(why);
    return new Error(why);
  }
}

function refusal(response: Response, url: URL, { method, headers }: RequestInit): string | null {
  const { status } = response;
  const location = response.headers.get('location');
  if (status >= 300 && status < 400 && location !== null) {
    const { origin } = URL.canParse(location, url.href) ? new URL(location, url) : { origin: 'an address that cannot be read' };
    return origin === url.origin
      ? null
      : `it redirects to ${origin}, which Pith does not follow; if you trust that address, write it as url`;
  }
  if (method === 'GET') return null; // a stream for news is the server's choice
  if (status === 401 || status === 403) return `it refuses us (${status}); look at headers, and at the secrets that they name`;
  if ((status === 400 || status === 404) && new Headers(headers).has('mcp-session-id'))
    return `it does not know this connection any more (${status}); a new one is made: try again`;
  return null;
}

/** The response, whose stream breaks when one message is longer than allowed. */
function capped(response: Response, gone: (why: string) => Error): Response {
  if (response.body === null) return response;
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  let size = 0;
  const cap = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const end = isStream ? lastBlankLine(chunk) : -1;
      size = end < 0 ? size + chunk.length : chunk.length - end;
      if (size > MOST_BYTES) controller.error(gone(`it sent a message longer than ${MOST_BYTES} bytes`));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(cap), { status, statusText, headers });
}

/** Where the last event in it ends; -1: no event ends in it. */
function lastBlankLine(chunk: Uint8Array): number {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
  return Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\r\n\r\n'));
}
