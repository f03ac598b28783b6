import { describe, expect, it } from 'vitest';
import type { ModelPart } from 'pith';
import { words } from '../../words.ts';
import { chatStream, serverEvents } from '../../../sandbox/extensions/openai_compatible/chat-stream.ts';

async function* bytes(text: string, size: number): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(text);
  for (let at = 0; at < all.length; at += size) yield all.subarray(at, at + size);
}

async function events(text: string, size = 1_000): Promise<string[]> {
  const found: string[] = [];
  for await (const batch of serverEvents(bytes(text, size))) found.push(...batch);
  return found;
}

const sse = (chunks: readonly unknown[]) =>
  chunks.map((chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`).join('');
const delta = (value: unknown, finish: string | null = null) => ({
  id: 'i',
  model: 'm',
  created: 1,
  choices: [{ delta: value, finish_reason: finish }],
});

async function parts(chunks: readonly unknown[]): Promise<ModelPart[]> {
  const found: ModelPart[] = [];
  for await (const part of chatStream(bytes(sse(chunks), 7), [])) found.push(part);
  return found;
}

const calls = (found: readonly ModelPart[]) =>
  found.flatMap((part) => (part.type === 'tool-call' ? [[part.toolCallId, part.toolName, part.input]] : []));

describe('server-sent events', () => {
  it('come out the same wherever the network cuts them', async () => {
    const text = ': comment\r\nid: 1\r\ndata: {"a":"é👋"}\r\n\r\ndata:one\ndata: two\n\nevent: x\n\ndata: last';
    for (const size of [1, 2, 3, 5, 1_000]) expect(await events(text, size)).toEqual(['{"a":"é👋"}', 'one\ntwo', 'last']);
  });

  it('do not grow without end', async () => {
    await expect(events(`data: ${'x'.repeat(5 * 1024 * 1024)}`, 1024 * 1024)).rejects.toThrow(/more than/);
  });
});

describe('a streamed answer', () => {
  it('sets reasoning and text apart', async () => {
    const found = await parts([
      delta({ reasoning_content: 'hm' }),
      delta({ content: 'A' }),
      delta({ content: [{ type: 'text', text: 'B' }] }),
      delta({ reasoning: 'so' }),
      delta({}, 'stop'),
      '[DONE]',
    ]);
    expect(found.map((part) => part.type)).toEqual(
      words(`
      stream-start response-metadata reasoning-start reasoning-delta reasoning-end text-start text-delta text-delta text-end
      reasoning-start reasoning-delta reasoning-end finish
    `),
    );
  });

  it('puts calls together that come without index, without id or all at once, and says that tools are wanted', async () => {
    const found = await parts([
      delta({ tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{"x":' } }] }),
      delta({ tool_calls: [{ function: { arguments: '1}' } }] }),
      delta({ tool_calls: [{ id: 'b', function: { name: 'g', arguments: '{}' } }] }),
      delta({}, 'stop'),
    ]);
    expect(calls(found)).toEqual([
      ['a', 'f', '{"x":1}'],
      ['b', 'g', '{}'],
    ]);
    expect(found.at(-1)).toMatchObject({ finishReason: { unified: 'tool-calls', raw: 'stop' } });
    const anonymous = calls(
      await parts([
        delta(
          {
            tool_calls: [
              { index: 0, function: { name: 'f' } },
              { index: 1, function: { name: 'f' } },
            ],
          },
          'tool_calls',
        ),
      ]),
    );
    expect(anonymous.map(([, name, input]) => [name, input])).toEqual([
      ['f', '{}'],
      ['f', '{}'],
    ]);
    expect(new Set(anonymous.map(([id]) => id)).size).toBe(2);
  });

  it('keeps what a server wants back with a call, in the place from which it is sent', async () => {
    const found = await parts([
      delta(
        { tool_calls: [{ index: 0, id: 'a', function: { name: 'f' }, extra_content: { google: { thought_signature: 's' } } }] },
        'tool_calls',
      ),
    ]);
    expect(found.find((part) => part.type === 'tool-call')).toMatchObject({ providerMetadata: { google: { thoughtSignature: 's' } } });
  });

  it.each([
    ['length', 'length'],
    ['content_filter', 'content-filter'],
    ['function_call', 'other'],
    ['odd', 'other'],
  ])('tells why it ended: %s', async (raw, unified) => {
    expect((await parts([delta({ content: 'a' }, raw)])).at(-1)).toMatchObject({ type: 'finish', finishReason: { unified, raw } });
  });

  it('reports cached and reasoning tokens, and none where the server counts none', async () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 8,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 3 },
    };
    expect((await parts([delta({}, 'stop'), { choices: [], usage }])).at(-1)).toMatchObject({
      usage: { inputTokens: { total: 10, noCache: 6, cacheRead: 4 }, outputTokens: { total: 8, text: 5, reasoning: 3 } },
    });
    expect((await parts([delta({}, 'stop')])).at(-1)).toMatchObject({ usage: { inputTokens: { total: undefined } } });
  });

  it('ends with [DONE], also where the server keeps the connection open', async () => {
    async function* open() {
      yield* bytes(sse([delta({ content: 'a' }), delta({}, 'stop'), '[DONE]']), 1000);
      await new Promise(() => undefined);
    }
    const found: ModelPart[] = [];
    for await (const part of chatStream(open(), [])) found.push(part);
    expect(found.at(-1)).toMatchObject({ type: 'finish' });
  });

  it('is an error, and offers no half-read call, when it ends in the middle, holds no JSON or an error', async () => {
    const half = delta({ content: 'a', tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } }] });
    for (const [rest, message] of [
      [[], 'in the middle'],
      [['{broken'], 'in the middle; it sent: {broken'],
      [['3'], 'in the middle; it sent: 3'],
      [['[DONE]'], 'in the middle'],
      [[delta({}, 'error')], 'ended the answer with an error'],
      [[{ error: { message: 'overloaded', code: 'x' } }, delta({}, 'stop')], 'overloaded'],
    ] as const) {
      const found = await parts([half, ...rest]);
      expect(found.filter((part) => part.type === 'error')).toEqual([
        { type: 'error', error: expect.objectContaining({ message: expect.stringContaining(message) }) },
      ]);
      expect(calls(found)).toEqual([]);
      expect(found.at(-1)).toMatchObject({ type: 'finish', finishReason: { unified: 'error' } });
    }
  });

  /** A piece of a call: index, id, name, arguments. */
  const piece = (index: unknown, id: unknown, name: unknown, args: unknown) =>
    delta({ tool_calls: [{ index, id, function: { name, arguments: args } }] });
  const end = delta({}, 'tool_calls');

  it.each<readonly [what: string, chunks: readonly unknown[], expected: readonly (readonly [unknown, string, string])[]]>([
    [
      'two calls that are both numbered 0',
      [piece(0, 'c1', 'f', '{"a":1}'), piece(0, 'c2', 'g', '{"b":2}'), end],
      [
        ['c1', 'f', '{"a":1}'],
        ['c2', 'g', '{"b":2}'],
      ],
    ],
    [
      'the same, each in pieces',
      [piece(0, 'c1', 'f', '{"a"'), piece(0, null, null, ':1}'), piece(0, 'c2', 'g', '{"b"'), piece(0, 'c2', null, ':2}'), end],
      [
        ['c1', 'f', '{"a":1}'],
        ['c2', 'g', '{"b":2}'],
      ],
    ],
    [
      'two calls by turns, with their ids',
      [piece(0, 'c1', 'f', '{"a"'), piece(0, 'c2', 'g', '{"b"'), piece(0, 'c1', '', ':1}'), piece(0, 'c2', '', ':2}'), end],
      [
        ['c1', 'f', '{"a":1}'],
        ['c2', 'g', '{"b":2}'],
      ],
    ],
    [
      'no ids at all, and whole arguments',
      [piece(0, null, 'f', '{"a":1}'), piece(0, null, 'f', '{"a":2}'), end],
      [
        [expect.any(String), 'f', '{"a":1}'],
        [expect.any(String), 'f', '{"a":2}'],
      ],
    ],
    ['a name with every piece', [piece(0, 'c1', 'f', '{"a"'), piece(0, 'c1', 'f', ':1}'), end], [['c1', 'f', '{"a":1}']]],
    [
      'a name with every piece, and no id',
      [piece(0, '', 'f', '{"a"'), piece(0, '', 'f', ':1}'), end],
      [[expect.any(String), 'f', '{"a":1}']],
    ],
    ['an id that comes late', [piece(0, null, 'f', '{"a"'), piece(0, 'c1', null, ':1}'), end], [['c1', 'f', '{"a":1}']]],
    ['another id with every piece', [piece(0, 'c1', 'f', '{"a"'), piece(0, 'x2', null, ':1}'), end], [['c1', 'f', '{"a":1}']]],
    [
      'a number as text',
      [piece('0', 'c1', 'f', '{"a":1}'), piece('1', 'c2', 'g', '{}'), end],
      [
        ['c1', 'f', '{"a":1}'],
        ['c2', 'g', '{}'],
      ],
    ],
    [
      'numbers that begin at 5',
      [piece(5, 'c1', 'f', '{"a"'), piece(7, 'c2', 'g', '{}'), piece(5, null, null, ':1}'), end],
      [
        ['c1', 'f', '{"a":1}'],
        ['c2', 'g', '{}'],
      ],
    ],
    ['arguments as an object', [piece(0, 'c1', 'f', { a: 1 }), end], [['c1', 'f', '{"a":1}']]],
    ['arguments that are null', [piece(0, 'c1', 'f', null), end], [['c1', 'f', '{}']]],
    ['no reason for the end, and [DONE]', [piece(0, 'c1', 'f', '{"a":1}'), '[DONE]'], [['c1', 'f', '{"a":1}']]],
    [
      'heartbeats between',
      [piece(0, 'c1', 'f', '{"a"'), 'ping', '""', '{}', piece(0, null, null, ':1}'), 'null', end],
      [['c1', 'f', '{"a":1}']],
    ],
    [
      'a second answer mixed in',
      [piece(0, 'c1', 'f', '{"a"'), { choices: [{ index: 1, delta: { content: 'other' } }] }, piece(0, null, null, ':1}'), end],
      [['c1', 'f', '{"a":1}']],
    ],
  ])('V3 V8 tells calls apart: %s', async (_what, chunks, expected) => {
    const found = await parts(chunks);
    expect(found.filter(({ type }) => type === 'error' || type === 'text-delta')).toEqual([]);
    expect(calls(found)).toEqual(expected);
  });

  it('V8 text without a reason for its end is whole with [DONE], and a refusal is what the model says', async () => {
    const found = await parts([delta({ content: 'all' }), '[DONE]']);
    expect(found.map(({ type }) => type)).not.toContain('error');
    expect(found.at(-1)).toMatchObject({ type: 'finish', finishReason: { unified: 'other' } });
    expect(await parts([delta({ refusal: 'I cannot' }), delta({}, 'stop')])).toContainEqual(
      expect.objectContaining({ type: 'text-delta', delta: 'I cannot' }),
    );
  });
});
