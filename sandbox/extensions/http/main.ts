import { oncePromised } from '@pith/promises';
import { type Command, type CommandProvider, type ExtensionContext, Permissions, PithError, Places, type ServiceProvider } from 'pith';
import { configSchema, type Config } from './config.ts';
import { HttpUsers } from './contract.ts';

/** The one listener of `pith serve`, and who may call it. */
export default class Http implements ServiceProvider, CommandProvider {
  static get config() {
    return configSchema();
  }

  readonly #tokens = oncePromised(async () => {
    const { Tokens } = await import('./tokens.ts');
    const { database, clock } = this.context;
    return new Tokens(database, clock, (userId) => this.context.use(Permissions).isAdmin(userId));
  });
  readonly #agents = oncePromised(async () => (await import('./reachable-agents.ts')).reachableAgents(this.context));
  readonly #users: HttpUsers = {
    agents: async (role) => (await this.#agents()).agents(role),
    agent: async (id, role) => (await this.#agents()).agent(id, role),
    signInAddress: async (port) => {
      const { isPortTaken, listeningAddress, portTaken } = await import('./server.ts');
      const address = await listeningAddress(this.context, port);
      if (address === null) {
        const place = this.#listens({ port });
        if (await isPortTaken(place)) throw portTaken(place);
        throw new PithError('not_listening', 'nothing listens for this sandbox', { cure: 'start it: pith serve' });
      }
      return `${address}/#code=${await (await this.#tokens()).makeCode()}`;
    },
    tokens: async () => (await this.#tokens()).list(),
    newToken: async (wanted) => (await this.#tokens()).make(wanted),
    revoke: async (id) => (await this.#tokens()).revoke(id),
  };

  constructor(private readonly context: ExtensionContext<Config>) {
    context.provide(HttpUsers, this.#users);
  }

  async getCommands(): Promise<readonly Command[]> {
    const { tokenCommands } = await import('./commands.ts');
    return tokenCommands(this.#users, this.context.clock);
  }

  /** Says that it cannot listen before anybody says that it serves; `runBackground` fails then, and says why. */
  async start(): Promise<void> {
    const { serve } = this.context.use(Places);
    if (serve === null) return;
    const { isPortTaken } = await import('./server.ts');
    if (await isPortTaken(this.#listens(serve))) this.context.events.publish('service.refused', { extensionId: this.context.id });
  }

  /** Where it does, with what a command line says. */
  #listens({
    host,
    port,
  }: {
    readonly host?: string | undefined;
    readonly port?: number | null | undefined;
  }): Pick<Config, 'host' | 'port'> {
    const { config } = this.context;
    return { host: host ?? config.host, port: port ?? config.port };
  }

  async runBackground(signal: AbortSignal): Promise<void> {
    if (this.context.use(Places).serve === null) return; // in a chat nothing is served
    const { runServer } = await import('./server.ts');
    await runServer(this.context, await this.#tokens(), signal);
  }
}
