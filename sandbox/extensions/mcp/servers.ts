import { existsSync } from 'node:fs';
import path from 'node:path';
import { Places, type Clock, type Diagnostic, type ExtensionContext, type Tool } from 'pith';
import { within } from '@pith/promises';
import { sha256 } from '@pith/plain-data';
import { type Config, type ServerConfig, serversOf } from './config.ts';
import { Connection } from './connection.ts';
import { Containment } from './contained.ts';
import { type CachedToolList, ToolListCache } from './tool-list-cache.ts';
import { Logins } from './logins.ts';
import { projectServers, type ProjectServer, type ProjectServers } from './project-servers.ts';
import type { ServerTool } from './listing.ts';
import { offersOf, type Offer } from './offer.ts';
import { serverSkillTool } from './server-skill-tool.ts';
import { type PublishedSkill, ServerSkills } from './server-skills.ts';
import { serverTool } from './server-tools.ts';

/** How soon an edit of `.mcp.json`, or an agreement that another process records, is noticed. */
const LOOK_MS = 5000;
const IDLE_MS = 3_600_000;

/** A connection, and what it is for: another entry of the same name is another server. */
interface Kept {
  readonly digest: string;
  readonly connection: Connection;
  /** When it was begun. */
  readonly since: number;
  readonly cached: CachedToolList;
  /** It takes longer than anybody waits. */
  isLate: boolean;
  end(): void;
}

/** All servers of the settings, and those of the project that a person agreed to. They are connected when something first needs them. */
export class Servers {
  readonly #context: ExtensionContext<Config>;
  /** Of the settings. */
  readonly #named: Readonly<Record<string, ServerConfig>>;
  readonly #unusable: ReadonlyMap<string, string>;
  readonly #kept = new Map<string, Kept>();
  readonly #containment = new Containment();
  readonly #toolLists: ToolListCache;
  readonly logins: Logins;
  readonly skills: ServerSkills;
  readonly #closing = new Set<Promise<void>>();
  #hasEnded = false;
  #isUsed = false;
  /** People who look at servers now. */
  #watching = 0;
  #following: Promise<void> = Promise.resolve();

  constructor(context: ExtensionContext<Config>) {
    this.#context = context;
    ({ usable: this.#named, unusable: this.#unusable } = serversOf(context.config));
    this.#toolLists = new ToolListCache(context);
    this.logins = new Logins(context.use(Places));
    this.skills = new ServerSkills(context.kv, this);
    context.own(async () => {
      this.#hasEnded = true;
      await this.#following;
      for (const [name] of this.#kept) this.#end(name);
      await Promise.allSettled(this.#closing);
      this.#containment.end();
    });
  }

  /**
   * Connects them. When this resolves, each has ended its first attempt, or was waited for: not at all where it is known what it offers,
   * or for `ms`. Who is late joins when it is there.
   */
  async connected(ms?: number): Promise<readonly Connection[]> {
    await this.#follow();
    const { clock } = this.#context;
    const kept = [...this.#kept.values()];
    await Promise.all(
      kept.map(({ connection, since, cached: { tools, startWait } }) => {
        const left = since + (ms ?? (tools.length > 0 ? 0 : startWait)) - clock.now();
        return left > 0 ? within(clock, left, connection.first) : undefined;
      }),
    );
    return kept.map(({ connection }) => connection);
  }

  /** Connects them. Resolves when each is connected, or is not to be waited for. */
  async settled(): Promise<void> {
    await this.#follow();
    await Promise.all([...this.#kept.values()].map(({ connection }) => connection.settled()));
  }

  /** `connected`, for a person who then reads of each: meanwhile none is said to be late. */
  async lookedAt(ms: number): Promise<readonly Connection[]> {
    this.#watching += 1;
    try {
      return await this.connected(ms);
    } finally {
      this.#watching -= 1;
    }
  }

  /** Names of those that have not answered yet, and may soon. */
  get awaited(): readonly string[] {
    return [...this.#kept.values()].flatMap(({ connection }) => (connection.isAwaited ? [connection.name] : []));
  }

  /** Connects a server at once that waits to be connected again. */
  again(name: string): void {
    this.#kept.get(name)?.connection.again();
  }

  get clock(): Clock {
    return this.#context.clock;
  }

  /** Of servers that may be used. */
  async names(): Promise<readonly string[]> {
    return [...(await this.#wanted()).keys()];
  }

  /** The settings of a server that may be used, by its name. null: there is none. */
  async configOf(name: string): Promise<ServerConfig | null> {
    return (await this.#wanted()).get(name)?.config ?? null;
  }

  /** Of one that may be used; it is not waited for. */
  async connection(name: string): Promise<Connection | null> {
    await this.#follow();
    return this.#kept.get(name)?.connection ?? null;
  }

  /** Of every server that is or was connected, and the one that reads their skills. */
  async tools(): Promise<readonly Tool[]> {
    const connections = await this.connected();
    const offers = this.offers();
    const skills = await serverSkillTool(this.skills);
    const tools = connections.flatMap((each) => (offers.get(each.name)?.tools ?? []).map((named) => serverTool(each, named)));
    return skills === null ? tools : [...tools, skills];
  }

  async agreeToSkill(skill: PublishedSkill): Promise<void> {
    await this.skills.agree(skill);
    this.#changed();
  }

  /** False: nobody had agreed. */
  async forgetSkill(server: string, uri: string): Promise<boolean> {
    const ok = await this.skills.forget(server, uri);
    if (ok) this.#changed();
    return ok;
  }

  /** What is offered of each server now, and what is not. */
  offers(): ReadonlyMap<string, Offer> {
    return offersOf([...this.#kept.values()].map(({ connection }) => connection));
  }

  /** What the project's file names, without the names that the settings have. */
  ofProject(): ProjectServers {
    const { servers, unusable } = projectServers(this.#context.use(Places));
    const hidden = servers.filter(({ name }) => Object.hasOwn(this.#context.config.servers, name));
    return {
      servers: servers.filter((server) => !hidden.includes(server)),
      unusable: new Map([...unusable, ...hidden.map(({ name }) => [name, 'the settings have a server of that name'] as const)]),
    };
  }

  /** Servers of the project that wait for a person to agree. */
  async untrusted(): Promise<readonly ProjectServer[]> {
    const found = await Promise.all(
      this.ofProject()
        .servers.filter(({ config }) => config.enabled)
        .map(async (server) => ((await this.#isAgreed(server)) ? [] : [server])),
    );
    return found.flat();
  }

  /** Records that a person agreed to a server of the project as it is, or, null, to none of that name; then connects or ends it. */
  async agree(name: string, server: ProjectServer | null): Promise<void> {
    const { kv } = this.#context;
    if (server === null) await kv.delete(keyOf(this.#project, name));
    else await kv.set(keyOf(this.#project, name), server.digest);
    if (this.#isUsed) await this.connected();
    this.#changed();
  }

  /** Tools that servers offer and that cannot be offered here, and servers that wait for a person. */
  async findings(): Promise<readonly Diagnostic[]> {
    const names = (await this.untrusted()).map(({ name }) => name);
    const waiting: Diagnostic = {
      severity: 'warning',
      code: 'not_agreed',
      message: `.mcp.json names ${names.length === 1 ? 'an MCP server' : 'MCP servers'} to which you have not agreed: ${names.join(', ')}`,
      cure: `to look at one and agree, run: pith mcp trust ${names[0] ?? 'NAME'}`,
    };
    const unusable = [...this.ofProject().unusable].map(([name, why]): Diagnostic => {
      const isLate = why.includes('pith trust'); // the first lines of a conversation say so, with the project's other files
      return {
        severity: name === '.mcp.json' && !isLate ? 'warning' : 'info', // some other tool may use an entry
        code: 'config_invalid',
        message: name === '.mcp.json' ? `.mcp.json is not used: ${why}` : `.mcp.json: the server '${name}' is not used: ${why}`,
        ...(!isLate && { cure: 'correct the file' }),
      };
    });
    const leftOut = [...this.offers().values()].flatMap((offer) =>
      offer.leftOut.map((each): Diagnostic => ({ severity: 'warning', code: 'tool_input_invalid', ...each })),
    );
    const unwell = [...this.#kept.values()].flatMap((kept) => findingOf(kept, this.#watching === 0) ?? []);
    return [...(names.length > 0 ? [waiting] : []), ...unusable, ...unwell, ...leftOut];
  }

  /** Entries that cannot be used, by name, and why. */
  get unusable(): ReadonlyMap<string, string> {
    return new Map([...this.#unusable, ...this.ofProject().unusable]);
  }

  /** Servers that are named but switched off. */
  get off(): readonly string[] {
    const ofSettings = Object.entries(this.#named).map(([name, config]) => ({ name, config }));
    return [...ofSettings, ...this.ofProject().servers].flatMap(({ name, config }) => (config.enabled ? [] : [name]));
  }

  async keep(signal: AbortSignal): Promise<void> {
    const { project, projectFiles } = this.#context.use(Places);
    const file = project === null ? null : path.join(project, '.mcp.json');
    const mayCome = file !== null && (projectFiles.includes(file) || existsSync(file)); // a person may agree to it meanwhile
    if (!mayCome && Object.values(this.#named).every(({ enabled }) => !enabled)) return;
    await this.connected();
    while (!signal.aborted) {
      await this.#context.clock.sleep(mayCome ? LOOK_MS : IDLE_MS, signal).catch(() => undefined); // ended: the loop sees it
      if (mayCome && !signal.aborted) await this.#follow();
    }
  }

  /** Connects what is wanted now, and ends what is wanted no more or is not what a person agreed to. One after another. */
  #follow(): Promise<void> {
    this.#isUsed = true;
    const next = this.#following.then(async () => {
      const wanted = await this.#wanted();
      if (this.#hasEnded) return;
      const gone = [...this.#kept].filter(([name, { digest }]) => wanted.get(name)?.digest !== digest);
      for (const [name] of gone) this.#end(name);
      const come = [...wanted].filter(([name]) => !this.#kept.has(name));
      for (const [name, { config, digest }] of come) this.#open(name, { config, digest }, await this.#toolLists.of(name, config));
      if (gone.length + come.length > 0) this.#changed();
    });
    this.#following = next.catch(() => undefined);
    return next;
  }

  async #wanted(): Promise<ReadonlyMap<string, Pick<ProjectServer, 'config' | 'digest'>>> {
    const wanted = new Map<string, Pick<ProjectServer, 'config' | 'digest'>>();
    for (const [name, config] of Object.entries(this.#named)) if (config.enabled) wanted.set(name, { config, digest: 'settings' }); // they change with the extension only
    for (const server of this.ofProject().servers)
      if (server.config.enabled && (await this.#isAgreed(server))) wanted.set(server.name, server);
    return wanted;
  }

  #open(name: string, { config, digest }: Pick<ProjectServer, 'config' | 'digest'>, cached: CachedToolList): void {
    if (this.#hasEnded) return;
    const { clock } = this.#context;
    const controller = new AbortController();
    const ports = {
      context: this.#context as unknown as ExtensionContext,
      containment: this.#containment,
      logins: this.logins,
      changed: () => this.#changed(),
      listed: (tools: readonly ServerTool[]) => void this.#toolLists.keep(name, config, tools),
    };
    const connection = new Connection({ name, config, tools: cached.tools }, ports, controller.signal);
    const kept: Kept = { digest, connection, since: clock.now(), cached, isLate: false, end: () => controller.abort() };
    this.#kept.set(name, kept);
    const cancel = clock.after(cached.startWait, () => {
      kept.isLate = true;
      this.#changed();
      if (cached.tools.length === 0) void this.#toolLists.keep(name, config, null);
    });
    void connection.first.then(() => {
      cancel();
      kept.isLate = false;
    });
  }

  #end(name: string): void {
    const kept = this.#kept.get(name);
    if (kept === undefined) return;
    this.#kept.delete(name);
    kept.end();
    const closed = kept.connection.closed.finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }

  async #isAgreed({ name, digest }: ProjectServer): Promise<boolean> {
    return (await this.#context.kv.get(keyOf(this.#project, name))) === digest;
  }

  get #project(): string {
    return this.#context.use(Places).project ?? '';
  }

  #changed(): void {
    const { events, id } = this.#context;
    events.publish('provider.changed', { extensionId: id, protocol: 'tool' });
  }
}

/** What a person should know of a server: one line. null: nothing. */
function findingOf({ connection: { name, state, reason, nonProtocolOutput }, isLate }: Kept, saysLate: boolean): Diagnostic | null {
  if (state === 'failed')
    return {
      severity: 'warning',
      code: 'mcp_not_connected',
      message: `the MCP server '${name}' is not connected: ${reason ?? 'it ended'}`,
      ...(!hasCure(reason) && { cure: 'look at it with: pith mcp' }),
    };
  if (state === 'connecting' && isLate && saysLate)
    return {
      severity: 'warning',
      code: 'mcp_not_connected',
      message: `the MCP server '${name}' has not answered yet: its tools come when it has`,
      cure: 'look at it with: pith mcp --wait',
    };
  if (nonProtocolOutput === null) return null;
  const message = `the MCP server '${name}' prints other text where its messages belong: ${nonProtocolOutput}`;
  return { severity: 'info', code: 'mcp_non_protocol_output', message, cure: 'have it write its log to the error stream' };
}

/** Whether a reason says what to do: after what is wrong, and not in the words of the server. */
function hasCure(reason: string | null): boolean {
  const [own = ''] = (reason ?? '').split(/; it (?:said|prints other text)/u, 1);
  return own.includes('; ');
}

/** An agreement is for one project, also where state is kept for several. */
function keyOf(project: string, name: string): string {
  return `agreed/${name}/${sha256(project).slice(0, 32)}`; // a key is short
}
