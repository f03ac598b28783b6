import { ulid } from 'ulid';
import { type AgentSpec, type JsonValue, PithError, toolError, type ToolResult, type TurnInfo } from '../../contract/index.ts';
import { nearest } from '@pith/plain-text';
import { inputProblem, judge } from '../tools/gate.ts';
import type { OfferedTool } from '../tools/offered-tool.ts';
import { missingTools } from '../tools/tools.ts';
import { onDemandIn, runTool, toolsOfTurn, withFixed } from '../tools/turn-tools.ts';
import type { Ask, Question } from '../threads/approval.ts';
import { ofDeclarer } from './origin.ts';
import type { TurnDependencies } from './running-turn.ts';
import { LOCAL_USER } from '../../declarations/index.ts';
import { UNKNOWN_CHANNEL } from './plan.ts';

/** Calls single tools as an agent would, without a model. */
export interface ToolCaller {
  /** What the agent can call now, what is on demand last. Rejects `agent_unknown` or `agent_failed`. */
  toolsOf(agentId: string): Promise<readonly OfferedTool[]>;
  /** Asks each guard about a call that nobody makes: one that cannot answer is known then. Never rejects. */
  tryGuards(agent: AgentSpec): Promise<void>;
  /** Through the same gate as in a turn. Rejects `tool_unknown` with the nearest names. */
  callTool(user: ToolUser, name: string, input: JsonValue, signal?: AbortSignal): Promise<ToolResult>;
}

/** The agent as which a tool is called, and the person who can be asked. An agent alone is refused what needs approval. */
type ToolUser = string | { readonly agentId: string; readonly userId?: string; approve(question: ToolQuestion): Promise<boolean> };

/** What they are asked: the call, and what the tool and guards say of it. */
export type ToolQuestion = Ask & Pick<Question, 'tool' | 'input'>;

type Dependencies = Pick<TurnDependencies, 'registry' | 'host' | 'clock' | 'askAlways' | 'mayChangePith'>;

export function createToolCaller(dependencies: Dependencies): ToolCaller {
  const { registry, host, clock } = dependencies;
  const offered = async (agentId: string, signal: AbortSignal, userId: string = LOCAL_USER) => {
    const { spec } = await registry.resolve(agentId);
    const policy = ofDeclarer(spec);
    const callees = await registry.callees(spec);
    const ofTurn = async (own: readonly string[]) => ({ ...turnOf(spec, ulid(clock.now()), own), userId });
    const { tools: given, all, info } = await toolsOfTurn(dependencies, { spec, userId, policy, callees }, ofTurn, signal);
    return { spec, tools: [...given, ...onDemandIn(all)], turn: info };
  };

  return {
    toolsOf: async (agentId) => (await offered(agentId, new AbortController().signal)).tools,
    async tryGuards(agent) {
      const { guards } = host.providers;
      if (!guards.areThere()) return;
      const turn = turnOf(agent, ulid(clock.now()), []);
      const call = { ...NOBODYS, agents: [agent.id], turn, idempotencyKey: `${turn.id}/0/0` };
      const { signal } = new AbortController();
      await guards.beforeToolCall(call, signal);
      await guards.afterToolCall(call, toolError('aborted', 'not run: nobody makes this call'), signal);
    },
    async callTool(user, name, input, signal = new AbortController().signal) {
      const { agentId, userId, approve } = typeof user === 'string' ? { agentId: user, userId: undefined, approve: null } : user;
      const problem = inputProblem(input);
      if (problem !== null) return toolError('tool_input_invalid', `the input of '${name}' ${problem}`);
      const { spec, tools, turn } = await offered(agentId, signal, userId);
      const tool = tools.find(
        ({ modelName, extensionId, descriptor }) => name === modelName || name === `${extensionId}/${descriptor.name}`,
      );
      if (tool === undefined) {
        const names = tools.map(({ modelName }) => modelName);
        const close = nearest(name, names);
        const cure =
          names.length === 0 ? `give '${agentId}' tools by uses_tools` : `use one of ${(close.length > 0 ? close : names).join(', ')}`;
        throw new PithError('tool_unknown', `the agent '${agentId}' has no tool '${name}'${missingTools(spec, host.extensions)}`, {
          where: name,
          cure,
        });
      }
      const { extensionId, descriptor } = tool;
      const whole = withFixed(input, tool);
      const idempotencyKey = `${turn.id}/0/0`;
      const call = { offered: tool, input: whole, agents: [agentId], turn, idempotencyKey };
      const limits = { callsBefore: 0, mostCalls: spec.limits.max_tool_calls, policy: {} };
      const { result, ask: asking, notifyGuards } = await judge(dependencies, { ...call, ...limits }, signal);
      if (result !== null) return result;
      if (asking !== null) {
        const { guard } = asking;
        const question = { ...asking, tool: `${extensionId}/${descriptor.name}`, input: whole };
        if (approve === null)
          return notifyGuards(
            toolError(
              'approval_needed',
              `not run: '${question.tool}' needs a person's approval, and nobody can be asked here${guard === null ? '' : `: ${guard}`}`,
            ),
          );
        if (!(await approve(question))) return notifyGuards(toolError('approval_denied', `not run: '${question.tool}' was not approved`));
      }
      const approved = asking?.subject ?? undefined;
      const about = { turn, idempotencyKey, signal, ...(approved === undefined ? {} : { approved }) };
      return notifyGuards(await runTool(host.providers.tools, tools, { extensionId, tool: descriptor.name, input: whole }, about));
    },
  };
}

const NOBODYS = { tool: 'pith/doctor', input: {}, effect: 'write' } as const;

/** A call outside a conversation is in a separate thread. */
function turnOf(agent: AgentSpec, id: string, tools: readonly string[]): TurnInfo {
  return {
    id,
    threadId: `tools/${id}`,
    agent,
    channelId: UNKNOWN_CHANNEL,
    userId: LOCAL_USER,
    tools,
    model: { ref: 'none', contextWindow: null },
    userTexts: [],
    compactions: 0,
    held: [],
    bound: [],
    correlationId: id,
    depth: 0,
  };
}
