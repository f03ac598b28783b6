import type { Client, Tool } from '@modelcontextprotocol/client';
import { messageOf, type ExtensionContext } from 'pith';
import type { ServerConfig } from './config.ts';
import { filled } from './secrets.ts';

const CONNECT_MS = 10_000;
const LONGEST_PAUSE_MS = 60_000;
const MOST_TOOLS = 200;
const MOST_PAGES = 20;
const MOST_BYTES = 4 * 1024 * 1024;

/** One server: connected again, later and later, whenever it goes away. */
export class Connection {
  readonly name: string;
  readonly config: ServerConfig;
  tools: readonly Tool[] = [];
  state: 'connecting' | 'connected' | 'failed' = 'connecting';
  reason: string | null = null;
  readonly #context: ExtensionContext;
  readonly #changed: () => void;
  #client: Client | null = null;
  /** When the first attempt has ended, well or not. */
  readonly first: Promise<void>;

  constructor(name: string, config: ServerConfig, context: ExtensionContext, signal: AbortSignal, changed: () => void) {
    this.name = name;
    this.config = config;
    this.#context = context;
    this.#changed = changed;
    this.first = new Promise((resolve) => void this.#keep(signal, resolve));
  }

  /** The client that answers now. Throws when there is none. */
  get client(): Client {
    if (this.#client) return this.#client;
    throw new Error(`the MCP server '${this.name}' cannot be reached: ${this.reason ?? 'it is being started'}`);
  }

  async #keep(signal: AbortSignal, tried: () => void): Promise<void> {
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      try {
        await this.#connected(signal, tried, () => (attempt = 0));
        this.reason = 'it ended';
      } catch (error) {
        this.reason = messageOf(error);
      }
      this.#client = null;
      this.state = 'failed';
      tried();
      if (signal.aborted) return;
      this.#context.logger.warn('an MCP server is not connected', { server: this.name, reason: this.reason });
      await this.#context.clock.sleep(Math.min(LONGEST_PAUSE_MS, 1000 * 2 ** attempt), signal).catch(() => undefined); // ended: the loop sees it
    }
  }

  /** Resolves when the connection has ended. */
  async #connected(signal: AbortSignal, tried: () => void, well: () => void): Promise<void> {
    const { Client } = await import('@modelcontextprotocol/client');
    const client = new Client({ name: 'pith', version: '1.0.0' }, { listChanged: { tools: { onChanged: () => void this.#list(client) } } });
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the package has no other way
    const ended = new Promise<void>((resolve) => (client.onclose = () => resolve()));
    const close = (): void => void client.close().catch(() => undefined); // it is gone either way
    try {
      this.state = 'connecting';
      await client.connect(await this.#transport(), { timeout: CONNECT_MS, signal });
      this.#client = client;
      await this.#list(client);
      this.state = 'connected';
      this.reason = null;
      well();
      tried();
      signal.addEventListener('abort', close, { once: true });
      await ended;
    } finally {
      signal.removeEventListener('abort', close);
      await client.close().catch(() => undefined); // it is gone either way
    }
  }

  async #list(client: Client): Promise<void> {
    try {
      const found: Tool[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < MOST_PAGES && found.length < MOST_TOOLS; page += 1) {
        const { tools, nextCursor } = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout: CONNECT_MS });
        found.push(...tools);
        cursor = nextCursor;
        if (cursor === undefined) break;
      }
      const before = JSON.stringify(this.tools);
      this.tools = found.slice(0, MOST_TOOLS);
      if (JSON.stringify(this.tools) !== before) this.#changed();
    } catch (error) {
      this.#context.logger.warn('the tools of an MCP server cannot be listed', { server: this.name, reason: messageOf(error) });
      if (this.#client !== client || this.tools.length === 0) throw error;
    }
  }

  async #transport() {
    const secret = (name: string) => this.#context.getSecret(name);
    if ('url' in this.config) {
      const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
      return new StreamableHTTPClientTransport(new URL(this.config.url), { requestInit: { headers: filled(this.config.headers, secret) } });
    }
    const { StdioClientTransport, getDefaultEnvironment } = await import('@modelcontextprotocol/client/stdio');
    const { command, args, env, cwd = this.#context.sandbox } = this.config;
    const transport = new StdioClientTransport({
      command,
      args,
      cwd,
      env: { ...getDefaultEnvironment(), ...filled(env, secret) },
      stderr: 'ignore',
      maxBufferSize: MOST_BYTES,
    });
    return transport;
  }
}
