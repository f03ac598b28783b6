import type { VNode } from 'preact';
import { followLink, place } from '../router.ts';
import { Agents } from './agents.tsx';
import { Extensions } from './extensions.tsx';
import { GraphPage } from './graph-page.tsx';
import { Health } from './health.tsx';
import { LogView } from './log-view.tsx';
import { McpServers } from './mcp-servers.tsx';
import { Models } from './models.tsx';
import { SettingsView } from './settings-view.tsx';
import { Users } from './users.tsx';

const PARTS = [
  { path: '/system', name: 'Health', View: Health },
  { path: '/system/extensions', name: 'Extensions', View: Extensions },
  { path: '/system/graph', name: 'Graph', View: GraphPage },
  { path: '/system/settings', name: 'Settings', View: () => <SettingsView extension={null} /> },
  { path: '/system/models', name: 'Models', View: Models },
  { path: '/system/mcp', name: 'MCP servers', View: McpServers },
  { path: '/system/agents', name: 'Agents', View: Agents },
  { path: '/system/users', name: 'Users and tokens', View: Users },
  { path: '/system/log', name: 'Log', View: () => <LogView extension={null} /> },
] as const;

/** For administrators: whether all is well, and what this Pith is made of. */
export function System(): VNode {
  const shown = PARTS.findLast(({ path }) => place.value === path || place.value.startsWith(`${path}/`)) ?? PARTS[0];
  return (
    <main class="view">
      <h1>System</h1>
      <nav class="tabs" aria-label="Parts of the system">
        {PARTS.map(({ path, name }) => (
          <a key={path} href={path} onClick={followLink} aria-current={path === shown.path ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <shown.View />
    </main>
  );
}
