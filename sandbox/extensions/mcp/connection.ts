import type { Client, Transport } from '@modelcontextprotocol/client';
import type { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import {
  messageOf,
  Places,
  toolError,
  toolResult,
  type ExtensionContext,
  type JsonValue,
  type ToolResult,
  type TurnInfo,
  z,
  codeOf,
  PithError,
} from 'pith';
import { activeTraceparent } from '@pith/genai-spans';
import { printable, printableLine, withCure } from '@pith/plain-text';
import { untilAborted, within } from '@pith/promises';
import { bound } from './bounded-transport.ts';
import { hasKey, type ServerConfig } from './config.ts';
import { skillFolders } from '@pith/safe-files';
import { SkillDrafts } from 'pith/skill_registry';
import { contained, keepsFolders, type Containment } from './contained.ts';
import { KnownTools } from './known-tools.ts';
import { StderrTail, ServerProcess } from './server-process.ts';
import { type ServerTool, listing, type Listing } from './listing.ts';
import type { Logins } from './logins.ts';
import { filled, sendable, useOf } from './secrets.ts';
import { patientRetries, serverFetch } from './server-fetch.ts';
import { resultOf, asJson } from './tool-results.ts';

const LONGEST_START_MS = 600_000;
const LIST_MS = 60_000;
const LONGEST_PAUSE_MS = 60_000;
/** A call tries at once to reach a server that is away, unless that has just failed. */
const JUST_NOW_MS = 1000;
/** A server may say that its tools changed as often as it likes, and a call does not wait longer for the list. */
const LIST_PAUSE_MS = 1000;
/** A call that reports progress has so many times its limit, and at most an hour. */
const PROGRESS_TIMES = 10;
const LONGEST_CALL_MS = 3_600_000;

export interface ConnectionPorts {
  readonly context: ExtensionContext;
  readonly containment: Containment;
  readonly logins: Logins;
  /** The tools are others now, or what is wrong with the server. */
  changed(): void;
  listed(tools: readonly ServerTool[]): void;
}

/** To connect. */
class Attempt {
  end: (isConnected: boolean) => void = () => undefined;
  readonly ended = new Promise<boolean>((resolve) => (this.end = resolve));
}

/** One server: connected again, later and later, whenever it goes away. */
export class Connection {
  readonly name: string;
  readonly config: ServerConfig;
  /** As it listed its tools last, also when that was before this start. */
  listing: Listing;
  readonly known: KnownTools;
  /** It has failed until it is connected again. */
  state: 'connecting' | 'connected' | 'failed' = 'connecting';
  reason: string | null = null;
  readonly #ports: ConnectionPorts;
  readonly #context: ExtensionContext;
  #client: Client | null = null;
  /** Why the last connection ended. */
  #end = '';
  #process: ServerProcess | null = null;
  /** Of one that was started here: it cannot write skills. */
  #isConfined = true;
  #stderr = new StderrTail((text) => this.#hidden(text));
  /** Values that its texts must not show, and what stands for them. */
  #secrets: readonly (readonly [value: string, name: string])[] = [];
  /** Of a login, as it was sent last. */
  #token: string | null = null;
  #pause = new AbortController();
  #isListing = false;
  #listedAt = -Infinity;
  /** Until the list that was asked for last is known. */
  #listed: Promise<unknown> = Promise.resolve();
  /** A list that a call waited for did not come in time: none waits again before one has. */
  #isListLate = false;
  /** A person wants it to connect now. */
  #isWanted = false;
  /** The one that runs, or comes next; while it is connected, the one that did it. */
  #attempt = new Attempt();
  #failedAt = -Infinity;
  /** How many attempts in a row came to no end. */
  #late = 0;
  /** Whether it was connected, once the first attempt has ended. */
  readonly first = this.#attempt.ended;
  /** When it has been closed, after `signal`. */
  readonly closed: Promise<void>;

  constructor(
    { name, config, tools }: Pick<Connection, 'name' | 'config'> & Pick<Listing, 'tools'>,
    ports: ConnectionPorts,
    signal: AbortSignal,
  ) {
    this.name = name;
    this.config = config;
    this.listing = { ...NOTHING, tools };
    this.#ports = ports;
    this.#context = ports.context;
    this.known = new KnownTools(ports.context.kv);
    this.closed = this.#keep(signal);
  }

  /** The last lines that it printed on its error stream, oldest first. */
  get stderrTail(): readonly string[] {
    return this.#stderr.lines;
  }

  /** Before a tool of it is called: what a server changes that nothing confines waits for a person. */
  async begins(turn: TurnInfo): Promise<void> {
    if (!this.#isConfined) await this.#context.find(SkillDrafts)[0]?.unconfined(`the MCP server '${this.name}'`, turn);
  }

  /** A line of its output that is no message; null: it printed none. */
  get nonProtocolOutput(): string | null {
    return this.#process?.nonProtocolOutput ?? null;
  }

  /** Milliseconds that a call may take in all. */
  get longestCall(): number {
    const { timeout } = this.config;
    return Math.max(timeout * 1000, Math.min(LONGEST_CALL_MS, timeout * 1000 * PROGRESS_TIMES));
  }

  /** Connects at once where it waits to do so; one that is connected begins again. */
  again(): void {
    this.#isWanted = true;
    this.#pause.abort();
    void this.#client?.close().catch(() => undefined); // the loop sees its end
  }

  /** Whether it may be there soon: the attempt after one that came to no end has twice as long. */
  get isAwaited(): boolean {
    return this.state === 'connecting' || (this.state === 'failed' && this.#late === 1);
  }

  /** Resolves when it is connected, or is not to be waited for. */
  async settled(): Promise<void> {
    while (this.isAwaited) await this.#attempt.ended;
  }

  /** The tool as the server lists it now: what it listed before is believed no longer than until it answers. One that is away is tried at once. */
  async current(tool: ServerTool, signal?: AbortSignal): Promise<ServerTool> {
    const { clock } = this.#context;
    const isAway = this.state === 'connecting' || (this.state === 'failed' && clock.now() - this.#failedAt > JUST_NOW_MS);
    if (isAway) {
      this.#pause.abort();
      const ended = within(clock, this.config.timeout * 1000, this.#attempt.ended);
      await (signal === undefined ? ended : untilAborted(ended, signal));
    }
    return this.listing.tools.find(({ name }) => name === tool.name) ?? tool;
  }

  /** What the model gets of a call, also of one that fails. Rejects when `signal` aborts. */
  async call({ name }: ServerTool, input: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<ToolResult> {
    const timeout = this.config.timeout * 1000;
    const client = this.#client;
    if (client === null)
      return toolError('mcp_error', `the MCP server '${this.name}' cannot be reached: ${this.reason ?? 'it has not answered yet'}`);
    try {
      const traceparent = activeTraceparent();
      const params = { name, arguments: { ...input }, ...(traceparent === undefined ? {} : { _meta: { traceparent } }) };
      const answer = await client.request({ method: 'tools/call', params }, z.unknown(), {
        signal,
        timeout,
        maxTotalTimeout: this.longestCall,
        resetTimeoutOnProgress: true,
        onprogress: () => undefined, // with it the server is told where to report
      });
      // The call may have changed the tools: then the model is told them with what came of it.
      if (!this.#isListLate) await within(this.#context.clock, LIST_PAUSE_MS, this.#listed, () => void (this.#isListLate = true));
      return this.#withoutToken(resultOf(answer));
    } catch (error) {
      signal.throwIfAborted();
      if (isLate(error)) {
        const how = `the MCP server '${this.name}' did not answer within ${this.config.timeout} s`;
        return toolError('tool_timeout', `${how}; a person can raise timeout in its settings`);
      }
      if (this.#client !== client)
        return toolError('mcp_error', `the MCP server '${this.name}' was lost in the call: ${this.#hidden(this.#end)}${this.#hint()}`);
      return toolError('mcp_error', `the MCP server '${this.name}' refused the call: ${this.#hidden(detailsOf(error))}`);
    }
  }

  /** A text of it, without what it was given in secret. */
  withoutSecrets(text: string): string {
    return this.#hidden(text);
  }

  /** The skills that it publishes. null: it publishes none, or cannot be reached now. */
  async skills(): Promise<SkillsClient | null> {
    if (this.#client === null) return null;
    const { SkillsClient } = await import('@modelcontextprotocol/client/ext/skills');
    const skills = new SkillsClient(this.#client, { skipInvalid: true });
    return skills.supported ? skills : null;
  }

  async #keep(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#context;
    let limit = this.config.start_timeout * 1000;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const begun = clock.now();
      const before = this.reason;
      try {
        this.reason = await this.#connected(limit, signal);
      } catch (error) {
        this.#failedAt = clock.now();
        this.#late = isLate(error) ? this.#late + 1 : 0;
        this.reason = isLate(error) ? `it did not answer within ${limit / 1000} s${this.#hint()}` : `${reasonOf(error)}${this.#hint()}`;
        if (isLate(error)) limit = Math.min(Math.max(limit, LONGEST_START_MS), limit * 2); // what it had begun, such as a download, may be what it lacks
      }
      this.#client = null;
      this.state = 'failed';
      this.#attempt.end(false);
      this.#attempt = new Attempt();
      if (signal.aborted) break;
      if (this.#isWanted) {
        this.#isWanted = false;
        attempt = -1;
        continue;
      }
      if (clock.now() - begun > limit + LONGEST_PAUSE_MS) attempt = 0; // one that ends right after each start is left longer and longer
      logger.warn('an MCP server is not connected', { server: this.name, reason: this.reason });
      if (this.reason !== before) this.#ports.changed();
      this.#pause = new AbortController();
      const over = AbortSignal.any([signal, this.#pause.signal]);
      await clock.sleep(Math.min(LONGEST_PAUSE_MS, 1000 * 2 ** attempt), over).catch(() => undefined); // ended: the loop sees it
      this.#isWanted = false;
    }
    this.#late = 0; // no other attempt comes
    this.#attempt.end(false);
  }

  /** Resolves when the connection has ended, with the reason. */
  async #connected(limit: number, signal: AbortSignal): Promise<string> {
    const { Client } = await import('@modelcontextprotocol/client');
    const listChanged = { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => this.#listAgain(client) } };
    const client: Client = new Client({ name: 'pith', version: '1.0.0' }, { listChanged });
    let end: (why: string) => void = () => undefined;
    let isOver = false;
    const ended = new Promise<string>((resolve) => {
      end = (why) => {
        if (!isOver) this.#end = why;
        isOver = true;
        if (this.#client === client) this.#client = null;
        resolve(why);
      };
    });
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the package has no other way
    client.onclose = () => end('it ended');
    const stop = (): void => end('it was stopped');
    let transport: Transport | null = null;
    try {
      transport = await this.#transport(end);
      bound(transport, this.#context.clock, end);
      await client.connect(transport, { timeout: limit, signal });
      this.#client = client;
      this.#isListLate = false;
      await this.#list(client);
      this.state = 'connected';
      this.reason = null;
      this.#late = 0;
      this.#attempt.end(true);
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      return `${await ended}${this.#hint()}`;
    } catch (error) {
      throw isOver ? new Error(await ended, { cause: error }) : error; // why it is over says more than that an answer did not come
    } finally {
      signal.removeEventListener('abort', stop);
      await client.close().catch(() => undefined); // it is gone either way
      await transport?.close().catch(() => undefined); // a client that closes already does not wait for that
    }
  }

  #listAgain(client: Client): void {
    if (this.#isListing) return; // a list that has not begun has this change, too
    this.#isListing = true;
    const { clock } = this.#context;
    const list = (): void => {
      const askedAt = clock.now();
      this.#isListing = false;
      this.#listedAt = askedAt;
      if (this.#client !== client) return;
      const inTime = (): void => void (clock.now() - askedAt < LIST_PAUSE_MS && (this.#isListLate = false));
      this.#listed = this.#list(client).then(inTime, () => undefined); // it is logged, and the former tools stay
    };
    const pause = Math.min(LIST_PAUSE_MS, this.#listedAt + LIST_PAUSE_MS - clock.now()); // the clock may have been set back
    if (pause > 0) clock.after(pause, list);
    else list();
  }

  async #list(client: Client): Promise<void> {
    try {
      const now = await listing((cursor) => {
        const params = cursor === undefined ? {} : { cursor };
        return client.request({ method: 'tools/list', params }, z.unknown(), { timeout: LIST_MS }).catch(noTools);
      });
      const found = now.isNone ? { ...this.listing, notes: now.notes } : now; // as after an answer that is an error
      await this.known.listed(this.name, found.tools);
      const isOther = JSON.stringify(shape(this.listing)) !== JSON.stringify(shape(found));
      this.listing = found;
      this.#ports.listed(found.tools);
      if (isOther) this.#ports.changed();
    } catch (error) {
      this.#context.logger.warn('the tools of an MCP server cannot be listed', { server: this.name, reason: messageOf(error) });
      if (this.#client !== client || this.listing.tools.length === 0) throw error;
    }
  }

  /** What a server that was started here printed, as the end of a sentence. */
  #hint(): string {
    const { reason } = this.#stderr;
    if (reason !== null) return `; it said: ${reason}`;
    return this.nonProtocolOutput === null
      ? ''
      : `; it prints other text where its messages belong: ${this.#hidden(this.nonProtocolOutput)}`;
  }

  #hidden(text: string): string {
    return this.#secrets.reduce((clean, [value, name]) => clean.split(value).join(`[secret ${name}]`), text);
  }

  /** The kernel takes the secrets out of what a tool answers; of a login it knows nothing. */
  #withoutToken(result: ToolResult): ToolResult {
    if (this.#token === null || !JSON.stringify(result).includes(this.#token)) return result;
    if (!result.ok) return toolError(result.error.code, this.#hidden(result.error.message));
    const { output, images } = result;
    return toolResult(JSON.parse(this.#hidden(JSON.stringify(output))) as JsonValue, images === undefined ? {} : { images });
  }

  #secret(name: string): string | null {
    const value = this.#context.getSecret(name, useOf(this.name, this.config));
    if (value !== null) this.#hide(value, name);
    return value;
  }

  #hide(value: string, name: string): void {
    const forms = [value, JSON.stringify(value).slice(1, -1), ...value.split('\n')].filter((form) => form.length >= SHORTEST_SECRET);
    if (!this.#secrets.some(([known]) => known === value))
      this.#secrets = [...this.#secrets, ...forms.map((form) => [form, name] as const)];
  }

  /** `lost` is called with the reason when the server is gone. */
  async #transport(lost: (why: string) => void): Promise<Transport> {
    const { context, containment, logins } = this.#ports;
    this.#secrets = [];
    const secret = (name: string) => this.#secret(name);
    if ('url' in this.config) {
      const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
      const { url } = this.config;
      const headers = sendable(filled(this.config.headers, secret));
      const login = hasKey(this.config) ? null : logins.of(url, this.name);
      return new StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers },
        fetch: serverFetch(url, { name: this.name, lost, hasLogin: login !== null }),
        reconnectionScheduler: patientRetries(context.clock),
        ...(login !== null && {
          authProvider: {
            token: async () => {
              const token = login.token();
              this.#token = token ?? null;
              if (token !== undefined) this.#hide(token, `login ${this.name}`);
              return token;
            },
            onUnauthorized: () => login.renew(),
          },
        }),
      });
    }
    const places = context.use(Places);
    const { project, sandbox } = places;
    const [drafts] = context.find(SkillDrafts);
    const { command, args, env, cwd = project ?? sandbox } = this.config; // it works on the project; where there is none, on the sandbox
    const { getDefaultEnvironment } = await import('@modelcontextprotocol/client/stdio');
    const inherited = getDefaultEnvironment();
    const searchPath = inherited['PATH'] ?? '/usr/bin:/bin';
    const program = await contained({ command, args }, await containment.container(searchPath), {
      cwd,
      searchPath,
      fixed: drafts === undefined ? skillFolders(places) : await drafts.folders(),
    });
    this.#isConfined = keepsFolders(program);
    const environment = { ...inherited, ...filled(env, secret), ...(await containment.mark()) };
    this.#stderr = new StderrTail((text) => this.#hidden(text));
    this.#process = new ServerProcess({ ...program, cwd, env: environment }, { clock: context.clock, stderr: this.#stderr, lost });
    return this.#process;
  }
}

const LONGEST_DETAILS = 10_000;

/** All that a server said of an error. */
function detailsOf(error: unknown): string {
  const data = typeof error === 'object' && error !== null && 'data' in error ? error.data : undefined;
  return `${printable(messageOf(error))}${data === undefined || data === null ? '' : `\n${printable(asJson(data) ?? '')}`}`.slice(
    0,
    LONGEST_DETAILS,
  );
}

const METHOD_NOT_FOUND = -32_601;

/** A server may have none, and not know how they are listed. */
function noTools(error: unknown): { readonly tools: readonly never[] } {
  if ((error as { readonly code?: unknown }).code === METHOD_NOT_FOUND) return { tools: [] };
  throw error;
}

const NOTHING: Listing = { tools: [], refused: new Map(), notes: [] };

/** What may differ from one listing to the next. */
function shape({ tools, refused, notes }: Listing): readonly unknown[] {
  return [tools, [...refused], notes];
}

/** Shorter values would make every text unreadable, and hide nothing. */
const SHORTEST_SECRET = 6;

const LONGEST = 400;

/** Why a server is not connected or a call of it failed, in a person's words: one printable line. */
function reasonOf(error: unknown): string {
  const text = withCure(messageOf(error), error instanceof PithError ? error.cure : undefined);
  return printableLine(wordsFor(error, text), LONGEST);
}

function wordsFor(error: unknown, text: string): string {
  const version = /protocol version is not supported: (.*)/u.exec(text)?.[1];
  if (version !== undefined) return `it speaks version '${version}' of the protocol, which Pith does not know; update the server or Pith`;
  const type = /^Unexpected content type: (.*)/u.exec(text)?.[1];
  if (type !== undefined)
    return `it answers with ${type === 'null' ? 'nothing that says its type' : type}, and not with a message; correct url`;
  if (text.startsWith('Invalid result for initialize')) return 'its answer to the first message is not that of an MCP server';
  const code = codeOf(error, '');
  if (code === 'CONNECTION_CLOSED' || text === 'Connection closed') return 'it ended';
  return text;
}

/** True: it has not answered in time. */
function isLate(error: unknown): boolean {
  return codeOf(error, '') === 'REQUEST_TIMEOUT';
}
