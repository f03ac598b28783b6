import { describe, expect, it } from 'vitest';
import type { Message } from '../../../core/contract/index.ts';
import { createWorld } from './world.ts';

const refused = Object.assign(new Error('no such model'), { statusCode: 404 });
const textsOf = (messages: readonly Message[] = []) =>
  messages.flatMap(({ role, content }) =>
    typeof content === 'string' ? [] : content.map((part) => ('text' in part ? `${role}: ${part.text}` : '')),
  );

describe('a question without an answer', () => {
  it('K45 stays in the store and is not sent with the next one', async () => {
    const world = await createWorld({ script: [{ error: refused }, { text: 'fine' }] });
    expect((await world.run('lost')).end.reason).toBe('error');
    expect(textsOf((await world.kernel.agents.preview({ agent: 'main', input: 'second', threadId: 'thread' })).messages)).toEqual([
      'user: second',
    ]);
    expect((await world.run('second')).end.reason).toBe('done');
    expect(textsOf(world.model.requests[1]?.messages)).toEqual(['user: second']);
    expect(textsOf(await world.history())).toEqual(['user: lost', 'user: second', 'assistant: fine']);
  });

  it('K45 is left out after an abort as well, and what was half answered is not', async () => {
    const world = await createWorld({ script: [{ hang: true }, { text: 'Half of', hang: true }, { text: 'fine' }] });
    const silent = new AbortController();
    const first = world.run('lost', {}, silent.signal);
    while (world.model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    silent.abort();
    expect((await first).end.reason).toBe('aborted');
    for await (const event of world.turn('cut')) if (event.type === 'text-delta') break;
    await world.run('third');
    const sent = textsOf(world.model.requests[2]?.messages);
    expect(sent).not.toContain('user: lost');
    expect(sent.slice(0, 1)).toEqual(['user: cut']);
    expect(sent.slice(-1)).toEqual(['user: third']);
  });

  it('K46 is not summarised by compaction', async () => {
    const long = 'word '.repeat(400);
    const world = await createWorld({ script: [{ error: refused }, { text: long }, { text: long }, { text: 'SUMMARY' }] });
    await world.run('lost');
    await world.run('second');
    await world.run('third');
    await world.kernel.agents.compact('thread');
    expect(world.model.requests).toHaveLength(4);
    expect(JSON.stringify(world.model.requests[3]?.messages)).not.toContain('lost');
  });
});

it('DESIGN 3.4 neighbouring user messages are sent as one', async () => {
  const world = await createWorld({ script: [{ text: 'one' }, { text: 'two' }, { text: 'SUMMARY' }, { text: 'three' }] });
  for (const input of ['first', 'second']) await world.run(input);
  await world.kernel.agents.compact('thread');
  await world.run('now');
  const sent = world.model.requests.at(-1)?.messages;
  expect(sent?.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  expect(textsOf(sent)).toEqual(['user: Before:', 'user: SUMMARY', 'user: second', 'assistant: two', 'user: now']);
});
