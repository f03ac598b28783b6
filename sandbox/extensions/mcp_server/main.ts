import type { CommandProvider, ExtensionContext } from 'pith';
import { serveCommand } from './serve-command.ts';

/** Offers what a person may use here to MCP clients. */
export default class McpServerExtension implements CommandProvider {
  constructor(private readonly context: ExtensionContext) {}

  getCommands() {
    return [serveCommand(this.context)];
  }
}
