import { toolError, toolResult, type AgentsApi, type AgentSpec, type ToolCall, type ToolResult, type TurnEvent } from 'pith';

export interface Outcome {
  readonly end: Extract<TurnEvent, { type: 'turn-end' }>;
  readonly thread: string;
  readonly steps: number;
  readonly notices: readonly string[];
}

/** One turn of `agent` in a thread that belongs to this call alone: whoever makes the call again continues that turn. null: it sent no end. */
export async function runAgent(
  agents: Pick<AgentsApi, 'run'>,
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

/** What the calling model reads of it. An agent that reached a limit has still done something: that is a result. */
export function resultOf(id: string, { end, thread, steps, notices }: Outcome): ToolResult {
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
