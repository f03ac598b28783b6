import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ModelCallOptions } from 'pith';
import { config } from '../../../sandbox/extensions/anthropic/config.ts';
import Anthropic from '../../../sandbox/extensions/anthropic/main.ts';
import { startAnthropicServer, type AnthropicServer } from '../../fixtures/anthropic-server.ts';
import { fakeContext, partsOf, userText } from '../fake-context.ts';

let server: AnthropicServer;
beforeEach(async () => void (server = await startAnthropicServer()));
afterEach(() => server.close());

function provider(settings: Record<string, unknown> = {}, secrets: Record<string, string> = {}) {
  return new Anthropic(
    fakeContext({ config: config.parse(settings), secrets: { ANTHROPIC_API_KEY: 'key-test', ANTHROPIC_BASE_URL: server.url, ...secrets } }),
  );
}

const model = () => provider().getModel('claude-test').model;
const prompt: ModelCallOptions['prompt'] = [
  { role: 'system', content: 'Role.' },
  { role: 'system', content: 'Context.' },
  userText('Hello'),
];
const failureOf = (asked: ReturnType<typeof model>): Promise<unknown> =>
  Promise.resolve(asked.doStream({ prompt })).then(
    () => null,
    (error: unknown) => error,
  );

describe('anthropic over HTTP', () => {
  it('streams text and reports the usage of the server', async () => {
    server.script({ text: ['Hel', 'lo'], usage: { input: 12, output: 7 } });
    const parts = await partsOf(model(), { prompt });
    expect(parts.filter((part) => part.type === 'text-delta').map((part) => part.delta)).toEqual(['Hel', 'lo']);
    expect(parts.at(-1)).toMatchObject({
      type: 'finish',
      finishReason: { unified: 'stop' },
      usage: { inputTokens: { total: 12 }, outputTokens: { total: 7 } },
    });
    expect(server.requests[0]?.path).toBe('/v1/messages');
    expect(server.requests[0]?.headers['x-api-key']).toBe('key-test');
  });

  it('lets the server keep the system part: the mark stands on its last block only, and thinking is off', async () => {
    server.script({ text: 'a' });
    await partsOf(model(), { prompt });
    const body = server.requests[0]?.body;
    expect(body?.system?.map((block) => [block.text, block.cache_control])).toEqual([
      ['Role.', undefined],
      ['Context.', { type: 'ephemeral' }],
    ]);
    expect(body).not.toHaveProperty('thinking');
    expect(JSON.stringify(body?.messages)).not.toContain('cache_control');
  });

  it('closes the connection when the caller aborts', async () => {
    server.script({ text: ['one ', 'two '], stallAfter: 3 });
    const abort = new AbortController();
    const { stream } = await model().doStream({ prompt, abortSignal: abort.signal });
    const reading = (async () => {
      for await (const part of stream) if (part.type === 'text-delta') abort.abort();
    })();
    await expect(reading).rejects.toThrow(/abort/i);
    expect(await server.requests[0]?.abandoned).toBe(true);
  });

  it.each([
    [401, false],
    [404, false],
    [429, true],
    [500, true],
    [529, true],
  ])('rejects status %i with its code and whether it may be tried again', async (status, retryable) => {
    server.script({ status, headers: { 'retry-after': '3' }, error: { message: `no: ${status}` } });
    const failure = await failureOf(model());
    expect(failure).toMatchObject({ statusCode: status, isRetryable: retryable, message: `no: ${status}` });
    expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure as object))).not.toContain('key-test');
  });

  it('fails when the connection is reset in the middle', async () => {
    server.script({ text: ['one ', 'two '], resetAfter: 3 });
    await expect(partsOf(model(), { prompt })).rejects.toThrow(/terminated|closed|reset|network|process successful response/i);
  });

  it('takes an address without the version too', async () => {
    server.script({ text: 'a' });
    await partsOf(provider({}, { ANTHROPIC_BASE_URL: server.url.replace('/v1', '/') }).getModel('claude-test').model, { prompt });
    expect(server.requests[0]?.path).toBe('/v1/messages');
  });

  it('names the cure when there is no key', () => {
    expect(() => provider({}, { ANTHROPIC_API_KEY: '' }).getModel('claude-test')).toThrow(
      expect.objectContaining({ code: 'model_auth', cure: 'set ANTHROPIC_API_KEY' }),
    );
  });

  it('knows the context window of its models, and takes another from the settings', async () => {
    expect(provider().getModel('claude-sonnet-4-5').contextWindow).toBe(200_000);
    expect(provider({ context_windows: { 'claude-sonnet-4-5': 1_000_000 } }).getModel('claude-sonnet-4-5').contextWindow).toBe(1_000_000);
    expect(provider().getModel('other').contextWindow).toBeNull();
    expect((await provider().models()).map((info) => info.name)).toContain('claude-sonnet-4-5');
  });
});
