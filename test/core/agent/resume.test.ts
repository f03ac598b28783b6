import { describe, expect, it, vi } from 'vitest';
import type { CallRecord } from '../../../core/agent/index.ts';
import { assistant, callOf, leftBehind, stepOf, user } from './records.ts';
import { agent, call, createWorld, resultsIn, type World, type WorldOptions } from './world.ts';

const spec = agent('main', { usesTools: ['ext'], instructions: 'AS IT WAS' });
const tools = {
  read: { run: () => 'read again' },
  put: { effect: 'write' as const, run: () => 'put again' },
  same: { effect: 'idempotent' as const, run: () => 'same again' },
};

/** A store as a process leaves it that was killed in the middle of a turn. */
async function killed(calls: readonly CallRecord[] | null, script: WorldOptions['script']): Promise<World> {
  const edited = agent('main', { usesTools: ['ext'], instructions: 'EDITED SINCE' });
  const world = await createWorld({ agents: [edited], tools, script });
  await leftBehind(world, spec, calls, { usage: { inputTokens: 7, outputTokens: 3 } });
  return world;
}

const planned = (index: number, tool: keyof typeof tools, state: CallRecord['state'], result: CallRecord['result'] = null) =>
  callOf('T', 0, index, {
    name: tool,
    extensionId: 'ext',
    tool,
    effect: tool === 'put' ? 'write' : tool === 'same' ? 'idempotent' : 'read',
    state,
    result,
  });
const plan = [
  planned(0, 'put', 'finished', { ok: true, output: 'put once', retain: { key: 'k', digest: 'd' } }),
  planned(1, 'put', 'requested'),
  planned(2, 'read', 'started'),
  planned(3, 'same', 'started'),
  planned(4, 'put', 'started'),
];

describe('a turn that a killed process left', () => {
  it('K45 C6 is continued from its last step: finished reused, requested run, started only where nothing is repeated', async () => {
    const world = await killed(plan, [{ text: 'All done.' }]);
    const { end, events } = await world.resume();
    expect(end).toMatchObject({ reason: 'done', text: 'All done.', usage: { inputTokens: 17, outputTokens: 8 } });
    expect(world.calls.map(({ tool, key }) => [tool, key])).toEqual([
      ['ext/put', 'T/0/1'],
      ['ext/read', 'T/0/2'],
      ['ext/same', 'T/0/3'],
    ]);
    expect(resultsIn(world.model.requests[0]?.messages.at(-1)).map(({ output }) => output)).toMatchObject([
      { value: 'put once' },
      { value: 'put again' },
      { value: 'read again' },
      { value: 'same again' },
      { type: 'error-json', value: { error: { code: 'interrupted', message: expect.stringContaining('T/0/4') } } },
    ]);
    expect((await world.threads.load('thread'))?.messages[2]?.retain).toEqual({ 'call-0-0': { key: 'k', digest: 'd' } });
    expect(events[0]).toMatchObject({ type: 'turn-start', turn: 'T' });
    expect(await world.threads.unfinished('thread')).toBeNull();
  });

  it('K45 keeps the agent of its row and the date of its thread', async () => {
    const world = await killed(null, [{ text: 'ok' }]);
    await world.resume();
    expect(world.model.requests[0]?.system).toBe('AS IT WAS');
    expect(world.model.requests[0]?.messages).toEqual([user('do it')]);
  });

  it('K45 that died while the model spoke repeats that step only', async () => {
    const world = await killed([planned(0, 'read', 'finished', { ok: true, output: 'r' })], [{ text: 'ok' }]);
    const output = { type: 'text', value: 'r' } as const;
    const content = [{ type: 'tool-result', toolCallId: 'call-0-0', toolName: 'read', output } as const];
    await world.writer.recordResults('T', { role: 'tool', content }, {});
    await world.resume();
    expect(world.calls).toEqual([]);
    expect(world.model.requests[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  });

  it('K45 whose answer was written only gets its end', async () => {
    const world = await killed(null, []);
    await world.writer.recordStep('T', stepOf(assistant('said')));
    expect((await world.resume()).end).toMatchObject({ reason: 'done', text: 'said' });
    expect(world.model.requests).toHaveLength(0);
  });

  it('K45 a new message closes it first: open calls are answered, nothing runs again', async () => {
    const world = await killed(plan, [{ text: 'new answer' }]);
    const { end } = await world.run('something else');
    expect(end.text).toBe('new answer');
    expect(world.calls).toEqual([]);
    const sent = world.model.requests[0]?.messages ?? [];
    expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    expect(resultsIn(sent[2]).map(({ output }) => output.type)).toEqual(['text', ...Array(4).fill('error-json')]);
    expect(await world.threads.unfinished('thread')).toBeNull();
  });

  it('K45 is continued with the model that is asked for now, and with nothing else that its policy did not allow', async () => {
    const world = await killed(null, [call('read'), { text: 'done' }]);
    const resolve = vi.spyOn(world.kernel.router, 'resolve');
    const { end } = await world.resume({ policy: { model: 'other/model', limits: { max_turns: 1 } } });
    expect(end).toMatchObject({ reason: 'done', text: 'done' });
    expect(resolve.mock.calls).toEqual([['other/model']]);
  });

  it('K45 nothing to resume is said; an unknown thread is an error', async () => {
    const world = await createWorld({ script: [{ text: 'a' }] });
    expect((await world.resume()).end).toMatchObject({ reason: 'error', error: { code: 'thread_unknown' } });
    await world.run('hi');
    const { notices, end } = await world.resume();
    expect(end.reason).toBe('done');
    expect(notices).toEqual(['nothing_to_resume']);
  });

  it('K45 a call has the same key on every attempt, and a write is known as started before it runs', async () => {
    let state: unknown;
    const put = { effect: 'write' as const, run: async () => void (state = (await world.threads.unfinished('thread'))?.calls[0]?.state) };
    const script = [call('put'), { text: 'ok' }];
    const world: World = await createWorld({ agents: [spec], tools: { put }, script });
    const { events } = await world.run('go');
    expect(state).toBe('started');
    const turn = events[0]?.type === 'turn-start' ? events[0].turn : '';
    expect(world.calls[0]?.key).toBe(`${turn}/0/0`);
  });
});
