import { describe, expect, it } from 'vitest';
import { call, createWorld } from './world.ts';

const key = 'turn-1/0/0';
const working = () => {
  const runs: string[] = [];
  return { runs, tools: { work: { effect: 'write' as const, run: () => (runs.push('work'), 'worked') } } };
};
const work = call('work');

describe('a turn with a key', () => {
  it('K45 is done once: asked for again it says its answer again, without the model', async () => {
    const world = await createWorld({ script: [{ text: 'the answer' }] });
    const first = await world.run('do it', { key });
    const again = await world.run('do it', { key });
    expect(first.end).toMatchObject({ reason: 'done', text: 'the answer' });
    expect(again.end).toEqual(first.end);
    expect(again.events.filter(({ type }) => type === 'text-delta')).toEqual([{ type: 'text-delta', text: 'the answer' }]);
    expect(again.events[0]).toMatchObject({ type: 'turn-start', agent: 'main', thread: 'thread' });
    expect(world.model.requests).toHaveLength(1);
    expect(await world.history()).toHaveLength(2);
  });

  it('K45 another key, or the same in another thread, is another turn', async () => {
    const world = await createWorld({ script: [{ text: 'one' }, { text: 'two' }, { text: 'three' }] });
    await world.run('do it', { key });
    expect((await world.run('do it', { key: 'turn-1/0/1' })).text).toBe('two');
    expect((await world.run('do it', { key, threadId: 'other' })).text).toBe('three');
  });

  it('K45 goes on after the process was killed: finished calls are not run again, and its message is not repeated', async () => {
    const { runs, tools } = working();
    const first = await createWorld({ tools, script: [work, { text: 'never', hang: true }] });
    await first.dies({ input: 'do it', key });
    const second = await createWorld({ tools, script: [{ text: 'done now' }], sandbox: first.sandbox });
    const { end, notices } = await second.run('do it', { key });
    expect(end).toMatchObject({ reason: 'done', text: 'done now' });
    expect(runs).toEqual(['work']);
    expect(notices).toEqual([]);
    expect(second.model.requests[0]?.messages.filter(({ role }) => role === 'user')).toHaveLength(1);
  });

  it('K45 what failed is tried again from its last step; broken words are not sent', async () => {
    const { runs, tools } = working();
    const script = [work, { text: 'Hal', breakWith: new Error('gone') }, { text: 'whole' }];
    const world = await createWorld({ tools, script });
    expect((await world.run('do it', { key })).end.reason).toBe('error');
    expect((await world.run('do it', { key })).end).toMatchObject({ reason: 'done', text: 'whole' });
    expect(runs).toEqual(['work']);
    expect(world.model.requests.at(-1)?.messages.at(-1)?.role).toBe('tool');
  });

  it('K45 what failed before the thread went on is over', async () => {
    const world = await createWorld({ script: [{ error: new Error('no') }, { text: 'next' }] });
    await world.run('do it', { key });
    await world.run('something else');
    const { end } = await world.run('do it', { key });
    expect(end).toMatchObject({ reason: 'error', error: { code: 'interrupted' } });
    expect(world.model.requests).toHaveLength(2);
  });
});
