import type { McpServer, ServerContext } from '@modelcontextprotocol/server';
import { messageOf, PithError, Places, type ExtensionContext } from 'pith';
import { hiddenFolders } from '@pith/plain-text';
import { RecipeBook } from 'pith/recipes';
import { SavedSkills } from 'pith/saved_skills';
import { SkillLibrary, skillsChanged } from 'pith/skill_registry';
import { promptOf, promptsOf } from './prompts.ts';
import type { ServedPerson } from './served.ts';
import { ReadableSkills } from './readable-skills.ts';
import { skillSource } from './skill-source.ts';
import { toolsOf } from './tools.ts';

const INSTRUCTIONS =
  'Skills are instructions and knowledge for kinds of tasks: find one with list_skills, read it with read_skill, then follow it.';

/** A server for one connection, or one request over HTTP. All that it offers is looked up when it is asked for. */
export async function serverFor(context: ExtensionContext, served: ServedPerson): Promise<McpServer> {
  const { McpServer, ProtocolError, ProtocolErrorCode } = await import('@modelcontextprotocol/server');
  const invalid = (message: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  const agent = () => context.agents.find(served.agent.id); // what it may read and do may change while a client is connected
  const [library] = context.find(SkillLibrary);
  const hide = hiddenFolders(context.use(Places));
  const readable = library === undefined ? null : new ReadableSkills(library, agent);
  const mcp = new McpServer(
    { name: 'pith', title: 'Pith', version: '1.0.0' },
    { ...(readable !== null && { instructions: INSTRUCTIONS }), capabilities: { tools: { listChanged: true } } },
  );
  const { server } = mcp;
  const tools = async () =>
    toolsOf({ context, served: { ...served, agent: await agent() }, readable, saved: context.find(SavedSkills)[0] ?? null, hide });

  server.setRequestHandler('tools/list', async () => ({
    tools: (await tools()).map(({ name, description, inputSchema, isReadOnly }) => ({
      name,
      description,
      inputSchema,
      annotations: { readOnlyHint: isReadOnly },
    })),
  }));
  server.setRequestHandler('tools/call', async ({ params }, asked) => {
    const tool = (await tools()).find(({ name }) => name === params.name);
    if (tool === undefined) throw invalid(`there is no tool '${params.name}'`);
    try {
      return await tool.call(params.arguments ?? {}, { signal: asked.mcpReq.signal, progress: progressOf(asked) });
    } catch (error) {
      asked.mcpReq.signal.throwIfAborted();
      return hide(failed(context, error));
    }
  });

  const [book] = context.find(RecipeBook);
  if (book !== undefined) {
    server.registerCapabilities({ prompts: {} });
    server.setRequestHandler('prompts/list', async () => ({ prompts: await promptsOf(book) }));
    server.setRequestHandler('prompts/get', async ({ params }) => {
      try {
        return await promptOf(book, params.name, params.arguments ?? {});
      } catch (error) {
        if (error instanceof PithError) throw invalid(hide(saidOf(error)));
        throw error;
      }
    });
  }

  if (readable !== null) {
    server.registerCapabilities({ resources: { listChanged: true } });
    const { SkillsExtension } = await import('@modelcontextprotocol/server/ext/skills');
    const warn = ({ path, message }: { readonly path: string; readonly message: string }) =>
      context.logger.debug('a skill is not offered to MCP clients', { path, message });
    new SkillsExtension({ source: await skillSource(readable), onWarning: warn }).attach(mcp);
  }
  return mcp;
}

/** Tells clients that skills, or saved skills that are tools, are others now. Returns what ends it. */
export function announce(context: ExtensionContext, clients: Clients): () => void {
  const skills = context.events.handle(skillsChanged, () => clients.skillsChanged());
  const tools = context.events.handle('provider.changed', ({ extensionId, protocol }) => {
    if (protocol === 'tool' && context.find(SavedSkills)[0]?.extensionId === extensionId) clients.toolsChanged();
  });
  return () => {
    skills();
    tools();
  };
}

/** Those that are connected now. */
export interface Clients {
  skillsChanged(): void;
  toolsChanged(): void;
}

/** Clients that have a connection. One that has just left misses nothing. */
export function connectedClients(servers: () => Iterable<McpServer>): Clients {
  const each = (send: (mcp: McpServer) => Promise<void>) => {
    for (const mcp of servers()) if (mcp.isConnected()) void send(mcp).catch(() => undefined);
  };
  return {
    skillsChanged: () => each(({ server }) => server.sendResourceListChanged()),
    toolsChanged: () => each(({ server }) => server.sendToolListChanged()),
  };
}

/** Reports to a client that asked for it how far a call is. */
function progressOf({ mcpReq }: ServerContext): (message: string) => Promise<void> {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return async () => undefined;
  let progress = 0;
  return async (message) => {
    progress += 1;
    await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } });
  };
}

/** What a model is told of a call that failed. Of an error that nobody expected it learns nothing. */
function failed({ logger }: ExtensionContext, error: unknown) {
  if (!(error instanceof PithError)) logger.error('a call of an MCP client failed', { error: messageOf(error) });
  const text = error instanceof PithError ? saidOf(error) : 'the call failed; the log of Pith says why';
  return { content: [{ type: 'text' as const, text }], isError: true };
}

function saidOf({ message, cure }: PithError): string {
  return cure === undefined ? message : `${message}; ${cure}`;
}
