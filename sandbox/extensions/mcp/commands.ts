import type { Command } from 'pith';
import { toolsOf } from './server-tools.ts';
import type { Servers } from './servers.ts';

export function mcpCommands(servers: Servers): readonly Command[] {
  const list: Command = {
    path: 'mcp',
    description: 'List the MCP servers, their state and their tools',
    async run(_input, io) {
      const connections = await servers.connected();
      const rows = [
        ...connections.map((each) => ({
          name: each.name,
          state: each.state as string,
          reason: each.reason,
          tools: toolsOf(each).map(({ name }) => name),
        })),
        ...servers.off.map((name) => ({ name, state: 'disabled', reason: null, tools: [] as string[] })),
      ];
      io.json(rows);
      if (rows.length === 0)
        io.print('No MCP servers: name them under extensions.mcp.servers in pith.yaml; pith doctor shows entries that cannot be read');
      for (const { name, state, reason, tools } of rows)
        io.print(`${name}: ${state}${reason === null ? '' : ` (${reason})`}${tools.map((tool) => `\n  ${tool}`).join('')}`);
      return rows.some(({ state }) => state === 'failed') ? 1 : 0;
    },
  };
  return [list, { ...list, path: 'mcp list', renamed: list.path }];
}
