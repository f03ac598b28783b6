import type { Diagnostic, ExtensionContext, Tool } from 'pith';
import { within } from '@pith/promises';
import type { Config } from './config.ts';
import { Connection } from './connection.ts';
import { Containment } from './contained.ts';
import { toolsOf } from './server-tools.ts';

/** How long the first question for tools waits for servers that start. */
const FIRST_MS = 5000;

/** All servers of the settings. They are connected when something first needs them. */
export class Servers {
  readonly #context: ExtensionContext<Config>;
  #connections: readonly Connection[] | null = null;

  constructor(context: ExtensionContext<Config>) {
    this.#context = context;
  }

  /** Connects them; each has ended its first attempt, or had five seconds for it, when this resolves. */
  async connected(): Promise<readonly Connection[]> {
    const connections = (this.#connections ??= this.#connect());
    await within(this.#context.clock, FIRST_MS, Promise.all(connections.map(({ first }) => first)));
    return connections;
  }

  /** Of every server that is or was connected. */
  async tools(): Promise<readonly Tool[]> {
    const names = new Set<string>();
    return (await this.connected()).flatMap(toolsOf).filter(({ name }) => !names.has(name) && names.add(name));
  }

  /** Tools that servers offer and that cannot be offered here. */
  findings(): readonly Diagnostic[] {
    return (this.#connections ?? []).flatMap(({ name, refused }) =>
      [...refused].map(([tool, reason]) => ({
        severity: 'warning',
        code: 'tool_input_invalid',
        message: `the tool '${tool}' of the MCP server '${name}' is left out: ${reason}`,
        cure: 'have the server corrected',
      })),
    );
  }

  /** Servers that are named but switched off. */
  get off(): readonly string[] {
    return Object.entries(this.#context.config.servers).flatMap(([name, { enabled }]) => (enabled ? [] : [name]));
  }

  async keep(signal: AbortSignal): Promise<void> {
    if (Object.values(this.#context.config.servers).every(({ enabled }) => !enabled)) return;
    await this.connected();
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  #connect(): readonly Connection[] {
    const { config, events, id, own } = this.#context;
    const controller = new AbortController();
    const containment = new Containment();
    const changed = (): void => void events.publish('provider.changed', { extensionId: id, protocol: 'tool' });
    const ports = { context: this.#context as unknown as ExtensionContext, containment, changed };
    const connections = Object.entries(config.servers)
      .filter(([, { enabled }]) => enabled)
      .map(([name, server]) => new Connection({ name, config: server }, ports, controller.signal));
    own(async () => {
      controller.abort();
      await Promise.allSettled(connections.map(({ closed }) => closed));
      containment.end();
    });
    return connections;
  }
}
