import { defineTool, z, type ExtensionContext, type Tool } from 'pith';
import { calleesOf } from './callees.ts';
import type { MadeAgents } from './made-agents.ts';

export function listAgents({ agents }: ExtensionContext, made: MadeAgents): Tool {
  return defineTool({
    name: 'list_agents',
    description: 'Lists the agents that you can hand work to with delegate_task, and what each is for.',
    input: z.object({}),
    effect: 'read',
    async execute(_input, { turn }) {
      const callees = await calleesOf(turn, agents, made);
      const declared = callees.declared.map(({ id, name, description }) => ({ agent_id: id, name, description }));
      const own = callees.made.map(({ spec: { id, name, description, usesTools }, expiresAt }) => ({
        agent_id: id,
        name,
        description,
        made_by_you: true,
        tools: usesTools,
        expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
      }));
      return {
        agents: [...declared, ...own],
        ...(callees.unavailable.length === 0 ? {} : { cannot_run_now: callees.unavailable }),
      };
    },
  });
}
