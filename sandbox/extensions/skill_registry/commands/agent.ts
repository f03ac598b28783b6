import { didYouMean, PithError, type AgentSpec, type CommandContext } from 'pith';

/** An agent by id. Rejects `agent_unknown`. */
export async function findAgent({ agents }: CommandContext, id: string): Promise<AgentSpec> {
  const known = await agents.list();
  const found = known.find((agent) => agent.id === id);
  if (found !== undefined) return found;
  const ids = known.map((agent) => agent.id);
  throw new PithError('agent_unknown', `no agent that can run is named '${id}'${didYouMean(id, ids)}`, { cure: 'see pith agents list' });
}
