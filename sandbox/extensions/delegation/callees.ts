import { didYouMean, toolError, type AgentsApi, type AgentSpec, type ToolResult, type TurnInfo } from 'pith';
import type { MadeAgent, MadeAgents } from './made-agents.ts';

/** Whom one turn may call. */
export interface Callees {
  readonly declared: readonly AgentSpec[];
  readonly made: readonly MadeAgent[];
  /** Named by `delegates_to`, and cannot run now. */
  readonly unavailable: readonly string[];
}

const EVERY = '*';

/** The declared agents that `delegates_to` names, and what the agent made itself. */
export async function calleesOf(turn: TurnInfo, agents: Pick<AgentsApi, 'list'>, made: MadeAgents): Promise<Callees> {
  const { id, delegatesTo } = turn.agent;
  const [known, own] = await Promise.all([delegatesTo.length === 0 ? [] : agents.list(), made.of(turn)]);
  const all = delegatesTo.includes(EVERY);
  const declared = known.filter((agent) => delegatesTo.includes(agent.id) || (all && agent.id !== id));
  const ids = new Set(known.map((agent) => agent.id));
  return { declared, made: own, unavailable: delegatesTo.filter((name) => name !== EVERY && !ids.has(name)) };
}

/** A declared agent's id, an agent that the caller made, or the refusal. */
export function findCallee({ declared, made, unavailable }: Callees, name: string, caller: string): string | MadeAgent | ToolResult {
  if (declared.some(({ id }) => id === name)) return name;
  const own = made.find(({ spec }) => spec.id === name);
  if (own !== undefined) return own;
  if (unavailable.includes(name)) return toolError('agent_failed', `the agent '${name}' cannot run now; 'pith doctor' says why`);
  const ids = [...declared.map(({ id }) => id), ...made.map(({ spec }) => spec.id)];
  const whom = ids.length === 0 ? 'it may call none; make one with create_agent' : `it may call ${ids.join(', ')}`;
  return toolError('agent_unknown', `there is no agent '${name}' that '${caller}' may call${didYouMean(name, ids)}; ${whom}`);
}
