/** What the store of threads keeps of a turn, for tests that write it themselves. */
import type { CallRecord, ThreadWriter, TurnRecord } from '../../../core/agent/index.ts';
import type { Message } from '../../../core/contract/index.ts';
import type { World } from './world.ts';

export const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });
export const assistant = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] });

export function turnOf(id: string, threadId: string, changes: Partial<TurnRecord> = {}): TurnRecord {
  return {
    id,
    threadId,
    agent: { id: 'helper', prompt: 'p' } as TurnRecord['agent'],
    channelId: 'cli',
    userId: 'local',
    policy: { denyTools: ['x'] },
    correlationId: 'c1',
    depth: 0,
    state: 'running',
    steps: 0,
    usage: { inputTokens: 0, outputTokens: 0 },
    startedAt: 5,
    key: null,
    ...changes,
  };
}

export function callOf(turnId: string, step: number, index: number, changes: Partial<CallRecord> = {}): CallRecord {
  return {
    turnId,
    step,
    index,
    callId: `call-${step}-${index}`,
    name: 'read',
    extensionId: 'files',
    tool: 'read',
    input: { path: 'a' },
    effect: 'read',
    state: 'requested',
    result: null,
    ...changes,
  };
}

type Step = Parameters<ThreadWriter['recordStep']>[1];
const NOTHING = { inputTokens: 0, outputTokens: 0 };

/** A step of a model that cost nothing, with these calls. */
export function stepOf(message: Message, more: Partial<Step> = {}): Step {
  return { step: 0, message, calls: [], usage: NOTHING, own: NOTHING, model: 'test/a', ...more };
}

/** The store as a process leaves it that was killed in the turn `T` of `main`: before its model answered, or while these calls of its first step ran. */
export async function leftBehind(
  { writer }: World,
  agent: TurnRecord['agent'],
  calls: readonly CallRecord[] | null,
  more: Partial<Step> = {},
) {
  const thread = { id: 'thread', agentId: 'main', date: '2025-12-31', title: 't' };
  await writer.beginTurn({ thread, turn: turnOf('T', 'thread', { agent, policy: {} }), messages: [user('do it')] });
  if (calls === null) return;
  const content = calls.map(({ callId, name, input }) => ({ type: 'tool-call' as const, toolCallId: callId, toolName: name, input }));
  const asked = calls.map((each) => ({ ...each, state: 'requested' as const, result: null }));
  await writer.recordStep('T', stepOf({ role: 'assistant', content }, { calls: asked, ...more }));
  for (const call of calls) {
    if (call.state !== 'requested') await writer.setCall(call, 'started');
    if (call.state === 'finished') await writer.finishCall(call, call.result!);
  }
}
