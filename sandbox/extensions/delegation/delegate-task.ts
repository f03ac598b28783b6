import { defineTool, isToolResult, toolError, z, type ExtensionContext, type Tool } from 'pith';
import { calleesOf, findCallee } from './callees.ts';
import { resultOf, runAgent } from './run-agent.ts';
import type { MadeAgents } from './made-agents.ts';

/** What ends a task is the time budget of the agents that work on it, not this. */
const LONGEST_MS = 24 * 3_600_000;

export function delegateTask({ agents }: ExtensionContext, made: MadeAgents): Tool {
  return defineTool({
    name: 'delegate_task',
    description:
      'Hands one task to another agent and returns its answer. The agent sees only what you write here, not this conversation. Several calls in one step run side by side.',
    input: z.object({
      agent_id: z.string().min(1).describe('One of list_agents.'),
      task: z.string().trim().min(1).describe('What to do, and what to answer with.'),
      context: z.string().default('').describe('What the agent must know: facts, files, what was decided.'),
    }),
    effect: 'idempotent', // the same call continues the same turn of the other agent, or repeats its answer
    timeoutMs: LONGEST_MS,
    agentTools: true,
    present: (result) => lineOf(result.metadata) ?? (result.ok ? 'done' : result.error.message),
    async execute({ agent_id: id, task, context }, call) {
      const { turn } = call;
      const callee = findCallee(await calleesOf(turn, agents, made), id, turn.agent.id);
      if (isToolResult(callee)) return callee;
      const own = typeof callee === 'string' ? null : callee;
      const outcome = await runAgent(agents, own?.spec ?? id, messageOf(task, context, turn.agent.id), call);
      if (own !== null && outcome?.end.reason === 'awaiting_approval') await made.extend(own);
      return outcome === null ? toolError('aborted', `'${id}' was stopped before it began`) : resultOf(id, outcome);
    },
  });
}

function messageOf(task: string, context: string, caller: string): string {
  return context.trim() === '' ? task : `${task}\n\nContext from the agent '${caller}':\n${context.trim()}`;
}

function lineOf(metadata: unknown): string | undefined {
  const { agent, reason, steps, tokens } = (metadata ?? {}) as Readonly<Record<string, unknown>>;
  return typeof agent === 'string' ? `${agent}: ${String(reason)} (${String(steps)} steps, ${String(tokens)} tokens)` : undefined;
}
