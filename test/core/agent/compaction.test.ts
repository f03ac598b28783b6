import { describe, expect, it } from 'vitest';
import { type CompactionProvider, toolResult } from '../../../core/contract/index.ts';
import type { ScriptedStep } from 'pith/testing';
import { call, createWorld } from './world.ts';

const words = (count: number) => 'word '.repeat(count);

const replacedBy =
  (part: unknown, retain: unknown = {}): CompactionProvider['compact'] =>
  async () => ({ replaced: 1, messages: [{ message: { role: 'user', content: [part] }, retain }] as never, summary: null });

describe('compaction of a thread', () => {
  const talk = (text: string): ScriptedStep => ({ text, usage: { inputTokens: 100, outputTokens: 50 } });

  it('K46 happens at 80 % of the window, counts, is announced, and the turn goes on', async () => {
    const world = await createWorld({
      contextWindow: 1000,
      script: [talk('one'), talk('two'), { text: 'SHORT', usage: { inputTokens: 30, outputTokens: 4 } }, talk('three')],
    });
    await world.run(`first ${words(250)}`);
    expect((await world.run(`second ${words(250)}`)).notices).toEqual([]);
    const third = await world.run(`third ${words(350)}`);
    expect(third.notices).toEqual(['thread_compacted']);
    expect(third.end).toMatchObject({ reason: 'done', text: 'three', usage: { inputTokens: 130, outputTokens: 54 } });
    expect((await world.threads.load('thread'))?.thread.compactions).toBe(1);
    expect(world.recorded.of('thread.compacted')).toMatchObject([
      { turnId: third.events[0]?.type === 'turn-start' && third.events[0].turn, compactions: 1, kept: [], dropped: [] },
    ]);
    const asked = world.model.requests[2];
    expect(asked).toMatchObject({ system: 'Shorten this.', tools: [] });
    const sent = JSON.stringify(world.model.requests[3]?.messages);
    expect(sent).toContain('SHORT');
    expect(sent).toContain('third');
    expect(sent).not.toContain('first');
  });

  it('K46 falls back to what the recipe says when the model cannot summarise', async () => {
    const world = await createWorld({
      contextWindow: 1000,
      script: [talk('one'), talk('two'), { error: Object.assign(new Error('no'), { statusCode: 400 }) }, talk('three')],
    });
    await world.run(`first ${words(250)}`);
    await world.run(`second ${words(250)}`);
    const { end } = await world.run(`third ${words(350)}`);
    expect(end).toMatchObject({ reason: 'done', text: 'three' });
    expect(JSON.stringify(world.model.requests[3]?.messages)).toContain('EXTRACT');
  });

  it('K46 S43 tools of the same turn learn that the thread was compacted', async () => {
    const seen: number[] = [];
    const world = await createWorld({
      contextWindow: 1000,
      tools: { t: { run: (_input, call) => (seen.push(call.turn.compactions), 'ok') } },
      script: [
        talk(words(500)),
        { calls: [{ name: 't', input: {} }], usage: { inputTokens: 900, outputTokens: 10 } },
        { text: 'SHORT' },
        call('t'),
        { text: 'done' },
      ],
    });
    await world.run('first');
    expect((await world.run('second')).end).toMatchObject({ reason: 'done', text: 'done' });
    expect(seen).toEqual([0, 1]);
    world.model.expectFinished();
  });

  it('K46 a provider that says the prompt is too long gets it compacted and asked once more', async () => {
    const tooLong = Object.assign(new Error('maximum context length exceeded'), { statusCode: 400 });
    const world = await createWorld({ script: [talk('one'), talk('two'), { error: tooLong }, { text: 'SHORT' }, talk('three')] });
    await world.run(words(500));
    await world.run(words(500));
    const { end, notices } = await world.run('third');
    expect(end).toMatchObject({ reason: 'done', text: 'three' });
    expect(notices).toEqual(['thread_compacted']);
  });

  it('K46 by hand, and an unknown thread is an error', async () => {
    const world = await createWorld({ script: [talk('one'), talk('two'), { text: 'SHORT' }] });
    await world.run(words(500));
    await world.run('short');
    const { tokensBefore, tokensAfter } = await world.kernel.agents.compact('thread');
    expect(tokensAfter).toBeLessThan(tokensBefore / 2);
    expect(JSON.stringify(await world.history())).toContain('SHORT');
    await expect(world.kernel.agents.compact('nowhere')).rejects.toMatchObject({ code: 'thread_unknown' });
  });

  it('K46 tells which results that asked to be kept still stand whole', async () => {
    const retain = { key: 'guide', digest: 'd1' };
    const read = () => toolResult(words(300), { retain });
    const world = await createWorld({
      tools: { read: { run: read } },
      script: [call('read'), talk('one'), talk('two'), { text: 'SHORT' }],
    });
    await world.run('go');
    await world.run('again');
    await world.kernel.agents.compact('thread');
    expect(world.recorded.of('thread.compacted')).toMatchObject([{ turnId: null, kept: [], dropped: [retain] }]);
  });

  it('a conversation that nobody shortens goes on until it is full, and then ends with the cure', async () => {
    const world = await createWorld({ contextWindow: 1000, compact: null, script: [talk('one'), talk('two'), talk('three')] });
    await world.run(words(500));
    expect((await world.run(words(350))).end.reason).toBe('done');
    const { end } = await world.run(words(700));
    expect(end).toMatchObject({
      reason: 'error',
      error: { code: 'model_context_too_long', message: expect.stringMatching(/provides 'compaction'; switch on/) },
    });
    await expect(world.kernel.agents.compact('thread')).rejects.toMatchObject({ code: 'provider_unavailable' });
  });

  it.each<[string, CompactionProvider['compact']]>([
    ['fails', () => Promise.reject(new Error('broken'))],
    [
      'parts a call from its result',
      async ({ messages }) => ({ replaced: messages.length - 1, messages: messages.slice(0, 1), summary: null }),
    ],
    ['replaces more than there is', async () => ({ replaced: 99, messages: [], summary: null })],
    ['writes a part that no model takes', replacedBy({ type: 'file', data: 'http://127.0.0.1/', mediaType: 'x' })],
    ['writes what is no part', replacedBy(null)],
    ['keeps a text', replacedBy({ type: 'text', text: 'short' }, 'abc')],
    [
      'writes a message without parts',
      async () => ({ replaced: 1, messages: [{ message: { role: 'user', content: [] }, retain: {} }], summary: null }),
    ],
    ['keeps nothing under a name', replacedBy({ type: 'text', text: 'short' }, { a: { key: 1 } })],
  ])('an extension that %s costs a notice and no message', async (_, compact) => {
    const world = await createWorld({
      contextWindow: 1000,
      compact,
      tools: { t: {} },
      script: [{ calls: [{ name: 't', input: {} }], usage: { inputTokens: 850, outputTokens: 10 } }, talk('done')],
    });
    const { end, notices } = await world.run('go');
    expect(end).toMatchObject({ reason: 'done', text: 'done' });
    expect(notices).toEqual(['provider_failed']);
    expect(await world.history()).toHaveLength(4);
  });
});
