import type { CommandProvider, ExtensionContext, ServiceProvider, ToolProvider } from 'pith';
import { mcpCommands } from './commands.ts';
import { config, type Config } from './config.ts';
import { Servers } from './servers.ts';

export default class Mcp implements ToolProvider, ServiceProvider, CommandProvider {
  static readonly config = config;
  private readonly servers: Servers;

  constructor(context: ExtensionContext<Config>) {
    this.servers = new Servers(context);
  }

  getTools() {
    return this.servers.tools();
  }

  getCommands() {
    return mcpCommands(this.servers);
  }

  runBackground(signal: AbortSignal) {
    return this.servers.keep(signal);
  }
}
