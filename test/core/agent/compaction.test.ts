import { describe, expect, it } from 'vitest';
import { compact } from '../../../core/agent/compaction/compaction.ts';
import type { Message, Retain } from '../../../core/contract/index.ts';
import type { ScriptedStep } from 'pith/testing';
import { agent, createWorld, noticesOf } from './world.ts';
import type { StoredMessage } from '../../../core/agent/index.ts';

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });
const says = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] });
const calls = (id: string, tool = 't'): Message => ({
  role: 'assistant',
  content: [{ type: 'tool-call', toolCallId: id, toolName: tool, input: {} }],
});
const answers = (id: string, value: string, tool = 't'): Message => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId: id, toolName: tool, output: { type: 'text', value } }],
});

function stored(messages: readonly Message[], retain: Record<number, Record<string, Retain>> = {}): StoredMessage[] {
  return messages.map((message, index) => ({ seq: index + 1, turnId: 'T', message, retain: retain[index] ?? {} }));
}

const request = { contextWindow: 2000, fixedTokens: 0, force: false, summarise: async () => 'SUMMARY' };
const words = (count: number) => 'word '.repeat(count);

describe('compaction of messages', () => {
  it('K46 cuts long tool results to head and tail first, and leaves the rest alone when that is enough', async () => {
    const long = `BEGIN${'x'.repeat(20_000)}END`;
    const messages = stored([user('a'), calls('1'), answers('1', long), says('b'), calls('2'), answers('2', 'short'), user('c')]);
    const result = await compact({ ...request, contextWindow: 8000, messages });
    expect(result).toMatchObject({ throughSeq: 3, replaced: 3 });
    const cut = JSON.stringify(result?.replacement[2]?.message);
    expect(cut).toContain('BEGIN');
    expect(cut).toContain('END');
    expect(cut).toMatch(/characters cut/);
    expect(cut.length).toBeLessThan(4000);
    expect(result?.tokensAfter).toBeLessThan(result?.tokensBefore ?? 0);
  });

  it('K46 summarises the oldest part and keeps the newest word for word', async () => {
    let transcript = '';
    const messages = stored([user(`first ${words(600)}`), says(words(600)), user(words(300)), says('NEWEST')]);
    const result = await compact({ ...request, messages, summarise: async (text) => ((transcript = text), 'SUMMARY') });
    expect(transcript).toContain('User: first');
    expect(JSON.stringify(result?.replacement[0]?.message)).toContain('SUMMARY');
    expect(JSON.stringify(result?.replacement)).not.toContain('first');
    expect(result?.throughSeq).toBeLessThan(4);
  });

  it('K46 a call and its result stay together, wherever the budget ends', async () => {
    for (const size of [10, 100, 200, 300, 400, 500, 600, 900]) {
      const messages = stored([
        user('go'),
        says(words(1500)),
        calls('1'),
        answers('1', words(size)),
        calls('2'),
        answers('2', words(size)),
        calls('3'),
        answers('3', words(size)),
      ]);
      const result = await compact({ ...request, messages });
      const rest = [
        ...(result?.replacement ?? []).map(({ message }) => message),
        ...messages.filter(({ seq }) => seq > (result?.throughSeq ?? 0)).map(({ message }) => message),
      ];
      // Each call is followed by its answer, and no answer stands alone.
      const ids = rest.flatMap((message) => {
        if (message.role === 'assistant')
          return message.content.flatMap((part) => (part.type === 'tool-call' ? [`call ${part.toolCallId}`] : []));
        return message.role === 'tool'
          ? message.content.flatMap((part) => (part.type === 'tool-result' ? [`answer ${part.toolCallId}`] : []))
          : [];
      });
      const paired = ids.filter((id) => id.startsWith('call')).flatMap((id) => [id, id.replace('call', 'answer')]);
      expect(ids).toEqual(paired);
      expect(ids).toContain('answer 3');
      expect(rest.some((message) => message.role === 'user' && JSON.stringify(message).includes('"go"'))).toBe(true);
    }
  });

  it('S46 results that asked to be kept are kept when small, else listed with their digest and tool, also through a second compaction', async () => {
    const keep = { 2: { '1': { key: 'code-review', digest: 'abc123' } }, 4: { '2': { key: 'tiny', digest: 'def456' } } };
    const messages = stored(
      [
        user('go'),
        calls('1', 'read_skill'),
        answers('1', words(400), 'read_skill'),
        calls('2', 'read_skill'),
        answers('2', 'TINY BODY', 'read_skill'),
        says(words(1500)),
        user('next'),
      ],
      keep,
    );
    const first = await compact({ ...request, messages });
    const text = JSON.stringify(first?.replacement[0]?.message);
    expect(text).toContain('- code-review abc123: read it again with read_skill');
    expect(text).toContain('TINY BODY');
    expect(first?.retained).toEqual({ kept: [keep[4]!['2']], dropped: [keep[2]!['1']] });
    const again = await compact({
      ...request,
      messages: stored([first!.replacement[0]!.message, says(words(2000)), user('more')], {
        0: first!.replacement[0]!.retain as Record<string, Retain>,
      }),
    });
    expect(JSON.stringify(again?.replacement[0]?.message)).toContain('- code-review abc123: read it again with read_skill');
    expect(again?.retained).toEqual({ kept: [], dropped: [keep[4]!['2']] });
  });

  it('K46 S90 tells which results that asked to be kept still stand whole: those cut or summarised do not', async () => {
    const retain = { key: 'guide', digest: 'd1' };
    const other = { key: 'other', digest: 'd2' };
    const messages = stored(
      [
        user('go'),
        calls('1', 'read_skill'),
        answers('1', words(60_000), 'read_skill'),
        calls('2', 'read_skill'),
        answers('2', words(500), 'read_skill'),
        user('next'),
      ],
      { 2: { 1: retain }, 4: { 2: other } },
    );
    const cut = await compact({ ...request, contextWindow: 100_000, messages });
    expect(cut?.retained).toEqual({ kept: [other], dropped: [retain] });
  });
});

describe('compaction of a thread', () => {
  const talk = (text: string): ScriptedStep => ({ text, usage: { inputTokens: 100, outputTokens: 50 } });

  it('K46 happens at 80 % of the window, counts, is announced, and the turn goes on', async () => {
    const world = await createWorld({
      contextWindow: 1000,
      script: [talk('one'), talk('two'), { text: 'SHORT', usage: { inputTokens: 30, outputTokens: 4 } }, talk('three')],
    });
    await world.run(`first ${words(250)}`);
    expect(noticesOf((await world.run(`second ${words(250)}`)).events)).toEqual([]);
    const third = await world.run(`third ${words(350)}`);
    expect(noticesOf(third.events)).toEqual(['thread_compacted']);
    expect(third.end).toMatchObject({ reason: 'done', text: 'three', usage: { inputTokens: 130, outputTokens: 54 } });
    expect((await world.threads.load('thread'))?.thread.compactions).toBe(1);
    expect(world.recorded.of('thread.compacted')).toMatchObject([
      { turnId: third.events[0]?.type === 'turn-start' && third.events[0].turn, compactions: 1, kept: [], dropped: [] },
    ]);
    const asked = world.model.requests[2];
    expect(asked?.system).toContain('You shorten conversations');
    expect(asked?.tools).toEqual([]);
    const sent = JSON.stringify(world.model.requests[3]?.messages);
    expect(sent).toContain('SHORT');
    expect(sent).toContain('third');
    expect(sent).not.toContain('first');
  });

  it('K46 falls back to an extract when the model cannot summarise', async () => {
    const world = await createWorld({
      contextWindow: 1000,
      script: [talk('one'), talk('two'), { error: Object.assign(new Error('no'), { statusCode: 400 }) }, talk('three')],
    });
    await world.run(`first ${words(250)}`);
    await world.run(`second ${words(250)}`);
    const { end } = await world.run(`third ${words(350)}`);
    expect(end).toMatchObject({ reason: 'done', text: 'three' });
    expect(JSON.stringify(world.model.requests[3]?.messages)).toContain('User: first');
  });

  it('K46 S43 tools of the same turn learn that the thread was compacted', async () => {
    const seen: number[] = [];
    const world = await createWorld({
      contextWindow: 1000,
      agents: [agent('main', { usesTools: ['ext'] })],
      extensions: { ext: { tools: { t: { run: (_input, call) => (seen.push(call.turn.compactions), 'ok') } } } },
      script: [
        talk(words(500)),
        { calls: [{ name: 't', input: {} }], usage: { inputTokens: 900, outputTokens: 10 } },
        { text: 'SHORT' },
        { calls: [{ name: 't', input: {} }] },
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
    const { end, events } = await world.run('third');
    expect(end).toMatchObject({ reason: 'done', text: 'three' });
    expect(noticesOf(events)).toEqual(['thread_compacted']);
  });

  it('K46 by hand, and an unknown thread is an error', async () => {
    const world = await createWorld({ script: [talk('one'), talk('two'), { text: 'SHORT' }] });
    await world.run(words(500));
    await world.run('short');
    const { tokensBefore, tokensAfter } = await world.agents.compact('thread');
    expect(tokensAfter).toBeLessThan(tokensBefore / 2);
    expect(JSON.stringify(await world.history())).toContain('SHORT');
    await expect(world.agents.compact('nowhere')).rejects.toMatchObject({ code: 'thread_unknown' });
  });
});
