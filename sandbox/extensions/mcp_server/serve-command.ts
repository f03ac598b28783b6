import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { messageOf, PithError, type Command, type CommandIO, type ExtensionContext, type JsonValue } from 'pith';
import { printableJson } from '@pith/plain-text';
import type { McpServer } from '@modelcontextprotocol/server';
import { announce, connectedClients, serverFor } from './offer.ts';
import type { ServedPerson } from './served.ts';

/** `pith mcp serve`: a client starts it, and talks with it over stdin and stdout until it closes stdin. */
export function serveCommand(context: ExtensionContext<{ readonly agent?: string | undefined }>): Command {
  const agent = {
    name: 'agent',
    short: 'a',
    type: 'string',
    description: 'Whose skills are offered, and who works on tasks (default: the default agent)',
  } as const;
  return {
    path: 'mcp serve',
    description: 'Serve skills, recipes and agents to an MCP client over stdin and stdout',
    options: [agent],
    slash: false,
    async run(input, io, signal) {
      const named = input.options['agent'];
      await serve(
        context,
        io,
        {
          userId: io.userId,
          agent: await context.agents.find(
            named === undefined ? (context.config.agent ?? (await context.agents.defaultId())) : String(named),
          ),
          agents: () => context.agents.list(),
        },
        signal,
      );
    },
    async runBeforeStart(input, io, start, signal) {
      void start().catch((error: unknown) => context.logger.error('services did not start', { error: messageOf(error) })); // it answers meanwhile
      return this.run(input, io, signal);
    },
  };
}

async function serve(context: ExtensionContext, io: CommandIO, served: ServedPerson, signal: AbortSignal): Promise<void> {
  const bytes = io.shell?.piped?.bytes;
  if (bytes === undefined)
    throw new PithError('usage', 'an MCP client starts this command, and talks with it over stdin and stdout', {
      cure: 'name it in the settings of the client: command "pith", args ["mcp", "serve"]',
    });
  const { serveStdio, StdioServerTransport } = await import('@modelcontextprotocol/server/stdio');
  const input = Readable.from(bytes, { objectMode: false });
  const transport = new StdioServerTransport(input, messagesTo(io));
  const log = (error: Error) => context.logger.warn('an MCP client', { error: messageOf(error) });
  const servers = new Set<McpServer>();
  const serving = async () => {
    const mcp = await serverFor(context, served);
    servers.add(mcp);
    return mcp;
  };
  const connection = serveStdio(serving, { transport, onerror: log });
  const silence = announce(
    context,
    connectedClients(() => servers),
  );
  const ended = new AbortController();
  const over = AbortSignal.any([signal, ended.signal]);
  input.once('close', () => ended.abort());
  if (!over.aborted) await once(over, 'abort');
  silence();
  await connection.close();
  input.destroy();
}

/** One message a line, and nothing else. */
function messagesTo(io: CommandIO): Writable {
  return new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      if (io.wantsJson) io.json(JSON.parse(line) as JsonValue);
      else io.print(printableJson(line));
      done();
    },
  });
}
