import type { Client } from '@modelcontextprotocol/client';
import { messageOf, PithError, printableLine, type ExtensionContext } from 'pith';
import type { ServerConfig } from './config.ts';
import { contained } from './contained.ts';
import type { Guardian } from './guardian.ts';
import { KnownTools } from './known-tools.ts';
import { page, readTool, type ServerTool } from './listed-tool.ts';
import { MOST_BYTES, serverFetch } from './remote.ts';
import { filled, useOf } from './secrets.ts';

const CONNECT_MS = 10_000;
const LONGEST_PAUSE_MS = 60_000;
const MOST_TOOLS = 200;
const MOST_PAGES = 20;
const LONGEST_NAME = 100;

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
  readonly #guardian: Guardian;
  /** When the first attempt has ended, well or not. */
  readonly first: Promise<void>;
  /** When it has been closed, after `signal`. */
  readonly closed: Promise<void>;

  constructor(name: string, config: ServerConfig, context: ExtensionContext, guardian: Guardian, signal: AbortSignal, changed: () => void) {
    this.name = name;
    this.config = config;
    this.#context = context;
    this.known = new KnownTools(context.kv);
    this.#guardian = guardian;
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

  /** One that is no tool costs nothing but itself. */
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

  /** `lost` is told why a server that was reached by HTTP is not there any more. */
  async #transport(lost: (why: string) => void) {
    const secret = (name: string) => this.#context.getSecret(name, useOf(this.name, this.config));
    if ('url' in this.config) {
      const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
      return new StreamableHTTPClientTransport(new URL(this.config.url), {
        requestInit: { headers: filled(this.config.headers, secret) },
        fetch: serverFetch(this.config.url, lost),
      });
    }
    const { StdioClientTransport, getDefaultEnvironment } = await import('@modelcontextprotocol/client/stdio');
    const { command, args, env, cwd = this.#context.sandbox } = this.config;
    const inherited = getDefaultEnvironment();
    const searchPath = inherited['PATH'] ?? '/usr/bin:/bin';
    const program = await contained({ command, args }, await this.#guardian.container(searchPath), { cwd, searchPath });
    return new StdioClientTransport({
      command: program.command,
      args: [...program.args],
      cwd,
      env: { ...inherited, ...filled(env, secret), ...this.#guardian.keep(searchPath) },
      stderr: 'ignore',
      maxBufferSize: MOST_BYTES,
    });
  }
}

function reasonOf(error: unknown): string {
  return error instanceof PithError && error.cure !== undefined ? `${messageOf(error)}; ${error.cure}` : messageOf(error);
}
