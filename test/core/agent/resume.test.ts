import { describe, expect, it, vi } from 'vitest';
import type { JsonValue, Message, Tool, ToolResult } from '../../../core/contract/index.ts';
import { agent, createWorld, noticesOf, type World } from './world.ts';
import type { CallRecord, TurnRecord } from '../../../core/agent/index.ts';

const NOTHING = { inputTokens: 0, outputTokens: 0 };
const spec = agent('main', { usesTools: ['ext'], instructions: 'AS IT WAS' });
const extensions = {
  ext: {
    tools: {
      read: { run: () => 'read again' },
      put: { effect: 'write' as const, run: () => 'put again' },
      same: { effect: 'idempotent' as const, run: () => 'same again' },
    },
  },
};

interface Planned {
  readonly tool: string;
  readonly effect: NonNullable<Tool['effect']>;
  readonly state: CallRecord['state'];
  readonly result?: ToolResult;
}

/** A store as a process leaves it that was killed in the middle of a turn. */
async function killed(
  planned: readonly Planned[] | null,
  script: Parameters<typeof createWorld>[0] extends infer O ? (O extends { script?: infer S } ? S : never) : never,
): Promise<World> {
  const world = await createWorld({ agents: [agent('main', { usesTools: ['ext'], instructions: 'EDITED SINCE' })], extensions, script });
  const turn: TurnRecord = {
    id: 'T',
    threadId: 'thread',
    agent: spec,
    channelId: 'cli',
    userId: 'local',
    policy: {},
    correlationId: 'C',
    depth: 0,
    state: 'running',
    steps: 0,
    usage: NOTHING,
    startedAt: 1,
    key: null,
  };
  await world.writer.beginTurn({
    thread: { id: 'thread', agentId: 'main', date: '2025-12-31', title: 't' },
    turn,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'do it' }] }],
  });
  if (planned === null) return world;
  const calls: CallRecord[] = planned.map(({ tool, effect }, index) => ({
    turnId: 'T',
    step: 0,
    index,
    callId: `c${index}`,
    name: tool,
    extensionId: 'ext',
    tool,
    input: { n: index },
    effect,
    state: 'requested',
    result: null,
  }));
  const message: Message = {
    role: 'assistant',
    content: calls.map(({ callId, name, input }) => ({ type: 'tool-call', toolCallId: callId, toolName: name, input: input as JsonValue })),
  };
  await world.writer.recordStep('T', {
    step: 0,
    message,
    calls,
    usage: { inputTokens: 7, outputTokens: 3 },
    own: NOTHING,
    model: 'test/a',
  });
  for (const [index, { state, result }] of planned.entries()) {
    if (state !== 'requested') await world.writer.setCall({ turnId: 'T', step: 0, index: index }, 'started');
    if (state === 'finished' && result) await world.writer.finishCall({ turnId: 'T', step: 0, index: index }, result);
  }
  return world;
}

const plan: readonly Planned[] = [
  { tool: 'put', effect: 'write', state: 'finished', result: { ok: true, output: 'put once', retain: { key: 'k', digest: 'd' } } },
  { tool: 'put', effect: 'write', state: 'requested' },
  { tool: 'read', effect: 'read', state: 'started' },
  { tool: 'same', effect: 'idempotent', state: 'started' },
  { tool: 'put', effect: 'write', state: 'started' },
];

describe('a turn that a killed process left', () => {
  it('K45 C6 is continued from its last step: finished reused, requested run, started only where nothing is repeated', async () => {
    const world = await killed(plan, [{ text: 'All done.' }]);
    const { end, events } = await world.collect({ resume: true });
    expect(end).toMatchObject({ reason: 'done', text: 'All done.', usage: { inputTokens: 17, outputTokens: 8 } });
    expect(world.calls.map(({ tool, key }) => [tool, key])).toEqual([
      ['ext/put', 'T/0/1'],
      ['ext/read', 'T/0/2'],
      ['ext/same', 'T/0/3'],
    ]);
    const results = world.model.requests[0]?.messages.at(-1);
    expect(results?.role === 'tool' && results.content.map((part) => part.type === 'tool-result' && part.output)).toMatchObject([
      { value: 'put once' },
      { value: 'put again' },
      { value: 'read again' },
      { value: 'same again' },
      { type: 'error-json', value: { error: { code: 'interrupted', message: expect.stringContaining('T/0/4') } } },
    ]);
    expect((await world.threads.load('thread'))?.messages[2]?.retain).toEqual({ c0: { key: 'k', digest: 'd' } });
    expect(events[0]).toMatchObject({ type: 'turn-start', turn: 'T' });
    expect(await world.threads.unfinished('thread')).toBeNull();
  });

  it('K45 keeps the agent of its row and the date of its thread', async () => {
    const world = await killed(null, [{ text: 'ok' }]);
    await world.collect({ resume: true });
    expect(world.model.requests[0]?.system).toBe('AS IT WAS');
    expect(world.model.requests[0]?.messages).toEqual([{ role: 'user', content: [{ type: 'text', text: 'do it' }] }]);
  });

  it('K45 that died while the model spoke repeats that step only', async () => {
    const world = await killed([{ tool: 'read', effect: 'read', state: 'finished', result: { ok: true, output: 'r' } }], [{ text: 'ok' }]);
    await world.writer.recordResults(
      'T',
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c0', toolName: 'read', output: { type: 'text', value: 'r' } }] },
      {},
    );
    await world.collect({ resume: true });
    expect(world.calls).toEqual([]);
    expect(world.model.requests[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  });

  it('K45 whose answer was written only gets its end', async () => {
    const world = await killed(null, []);
    await world.writer.recordStep('T', {
      step: 0,
      message: { role: 'assistant', content: [{ type: 'text', text: 'said' }] },
      calls: [],
      usage: NOTHING,
      own: NOTHING,
      model: 'test/a',
    });
    expect((await world.collect({ resume: true })).end).toMatchObject({ reason: 'done', text: 'said' });
    expect(world.model.requests).toHaveLength(0);
  });

  it('K45 a new message closes it first: open calls are answered, nothing runs again', async () => {
    const world = await killed(plan, [{ text: 'new answer' }]);
    const { end } = await world.run('something else');
    expect(end.text).toBe('new answer');
    expect(world.calls).toEqual([]);
    const sent = world.model.requests[0]?.messages ?? [];
    expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    const answers = sent[2];
    expect(answers?.role === 'tool' && answers.content.map((part) => part.type === 'tool-result' && part.output.type)).toEqual([
      'text',
      'error-json',
      'error-json',
      'error-json',
      'error-json',
    ]);
    expect(await world.threads.unfinished('thread')).toBeNull();
  });

  it('K45 is continued with the model that is asked for now, and with nothing else that its policy did not allow', async () => {
    const world = await killed(null, [{ calls: [{ name: 'read', input: {} }] }, { text: 'done' }]);
    const resolve = vi.spyOn(world.kernel.router, 'resolve');
    const { end } = await world.collect({ resume: true, policy: { model: 'other/model', limits: { max_turns: 1 } } });
    expect(end).toMatchObject({ reason: 'done', text: 'done' });
    expect(resolve.mock.calls).toEqual([['other/model']]);
  });

  it('K45 nothing to resume is said; an unknown thread is an error', async () => {
    const world = await createWorld({ script: [{ text: 'a' }] });
    expect((await world.collect({ resume: true })).end).toMatchObject({ reason: 'error', error: { code: 'thread_unknown' } });
    await world.run('hi');
    const { events, end } = await world.collect({ resume: true });
    expect(end.reason).toBe('done');
    expect(noticesOf(events)).toEqual(['nothing_to_resume']);
  });

  it('K45 a call has the same key on every attempt, and a write is known as started before it runs', async () => {
    let state: unknown;
    const put = { effect: 'write' as const, run: async () => void (state = (await world.threads.unfinished('thread'))?.calls[0]?.state) };
    const script = [{ calls: [{ name: 'put', input: {} }] }, { text: 'ok' }];
    const world: World = await createWorld({ agents: [spec], extensions: { ext: { tools: { put } } }, script });
    const { events } = await world.run('go');
    expect(state).toBe('started');
    const turn = events[0]?.type === 'turn-start' ? events[0].turn : '';
    expect(world.calls[0]?.key).toBe(`${turn}/0/0`);
  });
});
