import { describe, expect, it } from 'vitest';
import type { ModelPart } from 'pith';
import { words } from '../../words.ts';
import { chatStream } from '../../../sandbox/extensions/openai_compatible/chat-stream.ts';

async function* bytes(text: string, size: number): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(text);
  for (let at = 0; at < all.length; at += size) yield all.subarray(at, at + size);
}

const sse = (chunks: readonly unknown[]) =>
  chunks.map((chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`).join('');
const delta = (value: unknown, finish: string | null = null) => ({
  id: 'i',
  model: 'm',
  created: 1,
  choices: [{ delta: value, finish_reason: finish }],
});

const ASKED = { model: 'm', tools: new Set(['f', 'g']) };

async function parts(chunks: readonly unknown[]): Promise<ModelPart[]> {
  const found: ModelPart[] = [];
  for await (const part of chatStream(bytes(sse(chunks), 7), ASKED)) found.push(part);
  return found;
}

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
    for await (const part of chatStream(open(), ASKED)) found.push(part);
    expect(found.at(-1)).toMatchObject({ type: 'finish' });
  });
});
