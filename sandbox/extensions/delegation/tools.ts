import {
  type AgentSpec,
  defineTool,
  type ExtensionContext,
  PithError,
  type Tool,
  type ToolCall,
  toolError,
  toolResult,
  type ToolResult,
  type TurnEvent,
  type TurnInfo,
  z,
} from 'pith';
import { didYouMean } from '@pith/plain-text';
import type { MadeAgents, MadeAgent } from './made-agents.ts';

/** Longer than any task: the time budgets of the agents end it earlier. */
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
    effect: 'idempotent', // a repeated call continues the same turn of the other agent, or repeats its answer
    permission: { authoring: 'admin', safeToShare: false },
    timeoutMs: LONGEST_MS,
    agentTools: true,
    present: (result) => lineOf(result.metadata) ?? (result.ok ? 'done' : result.error.message),
    async execute({ agent_id: id, task, context }, call) {
      const { turn } = call;
      const callee = findCallee(await calleesOf(turn, agents, made), id, turn.agent.id);
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

interface Outcome {
  readonly end: Extract<TurnEvent, { type: 'turn-end' }>;
  readonly thread: string;
  readonly steps: number;
  readonly notices: readonly string[];
}

/** One turn of `agent` in a thread of this call alone: a repeated call continues that turn. null: the turn sent no end. */
async function runAgent(
  agents: Pick<ExtensionContext['agents'], 'run'>,
  agent: string | AgentSpec,
  input: string,
  { turn, idempotencyKey: key, signal }: ToolCall,
): Promise<Outcome | null> {
  const thread = `${turn.threadId}/${key}`;
  const notices: string[] = [];
  let steps = 0;
  for await (const event of agents.run({ agent, input, threadId: thread, parent: turn, key }, signal)) {
    if (event.type === 'step-end') steps += 1;
    if (event.type === 'notice') notices.push(event.message);
    if (event.type === 'turn-end') return { end: event, thread, steps, notices };
  }
  return null;
}

/** The result for the calling model. An agent that reached a limit has still done something, so that is a result. */
function resultOf(id: string, { end, thread, steps, notices }: Outcome): ToolResult {
  const { reason, text, usage, error } = end;
  const tokens = usage.inputTokens + usage.outputTokens;
  const metadata = { agent: id, thread, reason, steps, tokens, notices };
  const title = `${id}: ${reason}`;
  if (reason === 'done' || reason === 'limit') {
    const stopped = error === undefined ? {} : { stopped: error.message };
    return toolResult({ agent: id, reason, text, ...stopped, thread, usage: { ...usage } }, { title, metadata });
  }
  const sofar = text === '' ? '' : `; so far it said: ${text}`;
  const options = { title, metadata };
  if (reason === 'awaiting_approval') return toolError('awaiting_approval', `'${id}' waits for a person's answer${sofar}`, options);
  if (reason === 'aborted') return toolError('aborted', `'${id}' was stopped${sofar}`, options);
  return toolError(error?.code ?? 'agent_failed', `'${id}' failed: ${error?.message ?? 'it gave no reason'}${sofar}`, options);
}

export function listAgents({ agents }: ExtensionContext, made: MadeAgents): Tool {
  return defineTool({
    name: 'list_agents',
    description: 'Lists the agents that you can hand work to with delegate_task, and what each is for.',
    input: z.object({}),
    effect: 'read',
    permission: { authoring: 'anyone', safeToShare: true },
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

/** The agents that a turn may call. */
interface Callees {
  readonly declared: readonly AgentSpec[];
  readonly made: readonly MadeAgent[];
  /** Named by `delegates_to`, and not able to run now. */
  readonly unavailable: readonly string[];
}

const EVERY = '*';

/** The declared agents of `delegates_to`, and those that the agent made itself. */
async function calleesOf(turn: TurnInfo, agents: Pick<ExtensionContext['agents'], 'list'>, made: MadeAgents): Promise<Callees> {
  const { id, delegatesTo } = turn.agent;
  const [known, own] = await Promise.all([delegatesTo.length === 0 ? [] : agents.list(), made.of(turn)]);
  const all = delegatesTo.includes(EVERY);
  const declared = known.filter((agent) => delegatesTo.includes(agent.id) || (all && agent.id !== id));
  const ids = new Set(known.map((agent) => agent.id));
  return { declared, made: own, unavailable: delegatesTo.filter((name) => name !== EVERY && !ids.has(name)) };
}

/** A declared agent's id, or an agent that the caller made. Throws `agent_unknown` and `agent_failed`. */
function findCallee({ declared, made, unavailable }: Callees, name: string, caller: string): string | MadeAgent {
  if (declared.some(({ id }) => id === name)) return name;
  const own = made.find(({ spec }) => spec.id === name);
  if (own !== undefined) return own;
  if (unavailable.includes(name)) throw new PithError('agent_failed', `the agent '${name}' cannot run now`, { cure: 'see: pith doctor' });
  const ids = [...declared.map(({ id }) => id), ...made.map(({ spec }) => spec.id)];
  throw new PithError('agent_unknown', `there is no agent '${name}' that '${caller}' may call${didYouMean(name, ids)}`, {
    cure: ids.length === 0 ? 'it may call none; make one with create_agent' : `it may call ${ids.join(', ')}`,
  });
}
