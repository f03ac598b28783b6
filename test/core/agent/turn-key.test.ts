import { describe, expect, it } from 'vitest';
import { agent, createWorld } from './world.ts';

const key = 'turn-1/0/0';
const agents = [agent('main', { usesTools: ['ext'] })];
const extensions = () => {
  const runs: string[] = [];
  return { runs, ext: { tools: { work: { effect: 'write' as const, run: () => (runs.push('work'), 'worked') } } } };
};
const work = { calls: [{ name: 'work', input: {} }] };

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
    const { runs, ext } = extensions();
    const first = await createWorld({ agents, extensions: { ext }, script: [work, { text: 'never', hang: true }] });
    const stop = new AbortController();
    const events = first.kernel.agents.run({ agent: 'main', threadId: 'thread', input: 'do it', key }, stop.signal)[Symbol.asyncIterator]();
    for (;;) {
      const { value } = await events.next();
      if (value?.type === 'text-delta') break;
    }
    // Another process over the same file, as after kill -9: the first one's lease runs out.
    first.store.write((statement) => void statement('DELETE FROM leases')).catch(() => undefined);
    const second = await createWorld({ agents, extensions: { ext }, script: [{ text: 'done now' }], sandbox: first.sandbox });
    const { end, events: seen } = await second.run('do it', { key });
    expect(end).toMatchObject({ reason: 'done', text: 'done now' });
    expect(runs).toEqual(['work']);
    expect(seen.some((event) => event.type === 'notice')).toBe(false);
    expect(second.model.requests[0]?.messages.filter(({ role }) => role === 'user')).toHaveLength(1);
    stop.abort();
    await events.return?.();
  });

  it('K45 what failed is tried again from its last step; broken words are not sent', async () => {
    const { runs, ext } = extensions();
    const script = [work, { text: 'Hal', breakWith: new Error('gone') }, { text: 'whole' }];
    const world = await createWorld({ agents, extensions: { ext }, script });
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
