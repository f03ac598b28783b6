import { printableLine } from '@pith/plain-text';
import { type AgentSpec, type ExtensionContext, PithError } from 'pith';
import type { Config } from './config.ts';
import type { HttpUsers, Role } from './contract.ts';

type Ports = Pick<ExtensionContext<Config>, 'agents' | 'config'>;

/** Whom those who call over HTTP reach: administrators every agent, others those of the settings. */
export function reachableAgents({ agents, config }: Ports): Pick<HttpUsers, 'agents' | 'agent'> {
  const isOpen = (role: Role): boolean => role === 'admin' || config.agents.includes('*');
  const reachable = async (role: Role): Promise<readonly AgentSpec[]> => {
    const all = await agents.list();
    return isOpen(role) ? all : config.agents.flatMap((id) => all.find((agent) => agent.id === id) ?? []);
  };
  /** Of two that can answer who names none, the default agent of the settings. */
  const firstOf = async (some: readonly AgentSpec[]): Promise<AgentSpec | undefined> => {
    const chosen = some.length > 1 ? await agents.defaultId() : undefined;
    return some.find(({ id }) => id === chosen) ?? some[0];
  };
  return {
    async agents(role) {
      const some = await reachable(role);
      const first = await firstOf(some);
      return first === undefined ? [] : [first, ...some.filter((each) => each !== first)];
    },
    async agent(id, role) {
      const some = await reachable(role);
      const found = id === undefined ? await firstOf(some) : some.find((each) => each.id === id);
      if (found !== undefined) return found;
      if (id !== undefined && isOpen(role)) return agents.find(id); // its error says why it cannot run
      const what = id === undefined ? 'there is no agent that you reach' : `there is no agent '${printableLine(id, 100)}'`;
      const cure = some.length === 0 ? 'ask an administrator' : `use one of ${some.map((each) => each.id).join(', ')}`;
      throw new PithError('agent_unknown', what, { cure });
    },
  };
}
