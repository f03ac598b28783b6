import { z, type CommandProvider, type ExtensionContext } from 'pith';
import { serveCommand } from './serve-command.ts';

/** Offers what a person may use here to MCP clients. */
export default class McpServerExtension implements CommandProvider {
  static get config() {
    return z.strictObject({
      /** Whose skills are offered over HTTP, and who works on tasks; absent: the default agent. */
      agent: z.string().optional(),
    });
  }

  constructor(private readonly context: ExtensionContext<{ readonly agent?: string | undefined }>) {}

  getCommands() {
    return [serveCommand(this.context)];
  }
}
