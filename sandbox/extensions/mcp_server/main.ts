import { z, type CommandProvider, type ExtensionContext } from 'pith';
import { RouteProvider } from 'pith/http';
import { HttpEndpoint } from './http-endpoint.ts';
import { serveCommand } from './serve-command.ts';

/** Offers what a person may use here to MCP clients. */
export default class McpServerExtension implements CommandProvider {
  static get config() {
    return z.strictObject({
      /** Whose skills are offered over HTTP, and who works on tasks; absent: the default agent. */
      agent: z.string().optional(),
    });
  }

  constructor(private readonly context: ExtensionContext<{ readonly agent?: string | undefined }>) {
    context.provide(RouteProvider, new HttpEndpoint(context));
  }

  getCommands() {
    return [serveCommand(this.context)];
  }
}
