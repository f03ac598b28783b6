import type { CommandProvider, ExtensionContext, ServiceProvider, ToolProvider } from 'pith';
import { mcpCommands } from './commands.ts';
import { config, type Config, serversOf } from './config.ts';
import { secretUsesOf } from './secrets.ts';
import { Servers } from './servers.ts';
import { skillCommands } from './skill-commands.ts';

export default class Mcp implements ToolProvider, ServiceProvider, CommandProvider {
  static readonly config = config;
  private readonly servers: Servers;

  constructor(private readonly context: ExtensionContext<Config>) {
    this.servers = new Servers(context);
  }

  secretUses() {
    const ofProject = this.servers.ofProject().servers.map(({ name, config }) => [name, config] as const);
    return secretUsesOf({ ...Object.fromEntries(ofProject), ...serversOf(this.context.config).usable });
  }

  getTools() {
    return this.servers.tools();
  }

  getCommands() {
    return [...mcpCommands(this.servers), ...skillCommands(this.servers, this.servers.skills)];
  }

  findings() {
    return this.servers.findings();
  }

  runBackground(signal: AbortSignal) {
    return this.servers.keep(signal);
  }
}
