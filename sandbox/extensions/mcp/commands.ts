import { type Command, type CommandInput, PithError } from 'pith';
import { didYouMean, printableLine } from '@pith/plain-text';
import { shownServer } from './project-servers.ts';
import { toolsOf } from './server-tools.ts';
import type { Servers } from './servers.ts';

const NAME = { name: 'name', description: 'The server, as mcp names it', required: true };

export function mcpCommands(servers: Servers): readonly Command[] {
  const list: Command = {
    path: 'mcp',
    description: 'List the MCP servers, their state and their tools',
    async run(_input, io) {
      const here = io.session === undefined ? 'pith ' : '/';
      const connections = await servers.connected();
      const rows = [
        ...connections.map((each) => ({
          name: each.name,
          state: each.state as string,
          reason: each.reason,
          tools: toolsOf(each).map(({ name }) => name),
        })),
        ...(await servers.untrusted()).map(({ name }) => ({
          name,
          state: 'untrusted',
          reason: `from .mcp.json; to look at it and agree: ${here}mcp trust ${name}`,
          tools: [] as string[],
        })),
        ...servers.off.map((name) => ({ name, state: 'disabled', reason: null, tools: [] as string[] })),
      ];
      io.json(rows);
      if (rows.length === 0)
        io.print('No MCP servers: name them under extensions.mcp.servers in pith.yaml; pith doctor shows entries that cannot be read');
      for (const { name, state, reason, tools } of rows)
        io.print(`${name}: ${state}${reason === null ? '' : ` (${reason})`}${tools.map((tool) => `\n  ${tool}`).join('')}`);
      for (const [name, why] of servers.ofProject().unusable) io.print(`${name}: not used (${why})`);
      return rows.some(({ state }) => state === 'failed') ? 1 : 0;
    },
  };
  return [
    list,
    {
      path: 'mcp trust',
      description: "Show an MCP server of the project's .mcp.json, and agree to it as it is",
      arguments: [NAME],
      options: [{ name: 'yes', type: 'boolean', description: 'Do not ask; answer yes' }],
      needsTrust: true,
      async run(input, io) {
        const server = foundIn(servers, input);
        const { name, config } = server;
        io.print(`The MCP server '${name}' of .mcp.json ${shownServer(config).join('\n')}`);
        if ('command' in config) io.print('It is not sandboxed: it sees and changes what you can see and change.');
        const answer = input.options['yes'] === true ? 'yes' : await io.ask('Use this server?', { choices: ['yes', 'no'] });
        if (answer === null && !io.interactive)
          throw new PithError('usage', `nobody is there to agree to '${name}'`, { cure: 'read the lines above, then add --yes' });
        if (answer === 'yes') await servers.agree(name, server);
        io.json({ ok: answer === 'yes', name });
        if (answer === 'yes' && !io.quiet)
          io.print(`Agreed to '${name}'. To take it back: ${io.session === undefined ? 'pith ' : '/'}mcp untrust ${name}`);
        return answer === 'yes' ? 0 : 1;
      },
    },
    {
      path: 'mcp untrust',
      description: "Stop using an MCP server of the project's .mcp.json",
      arguments: [NAME],
      async run(input, io) {
        const { name } = foundIn(servers, input);
        await servers.agree(name, null);
        io.json({ ok: true, name });
        if (!io.quiet) io.print(`'${name}' is no longer used`);
        return 0;
      },
    },
  ];
}

function foundIn(servers: Servers, { arguments: given }: CommandInput) {
  const name = String(given['name']);
  const found = servers.ofProject().servers;
  const server = found.find((each) => each.name === name);
  if (server !== undefined) return server;
  const names = found.map((each) => each.name);
  throw new PithError('usage', `.mcp.json of this project names no server '${printableLine(name, 60)}'${didYouMean(name, names)}`, {
    cure: names.length === 0 ? 'servers of pith.yaml need no agreement' : `it names: ${names.join(', ')}`,
  });
}
