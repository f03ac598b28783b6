import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonValue, ModelCallOptions } from 'pith';
import { startAnthropicServer, type AnthropicServer } from '../../fixtures/anthropic-server.ts';
import { proxyTo } from '../../fixtures/proxy-server.ts';
import { failureOf, partsOf, providerOf, userText } from '../model-parts.ts';

let server: AnthropicServer;
beforeEach(async () => void (server = await startAnthropicServer()));
afterEach(() => server.close());

const provider = (settings: Record<string, JsonValue> = {}, env: Record<string, string> = {}) =>
  providerOf('anthropic', settings, { ANTHROPIC_API_KEY: 'key-test', ANTHROPIC_BASE_URL: server.url, ...env });
const model = async (env?: Record<string, string>) => (await (await provider({}, env)).getModel('claude-test', 'anthropic')).model;
const prompt: ModelCallOptions['prompt'] = [
  { role: 'system', content: 'Role.' },
  { role: 'system', content: 'Context.' },
  userText('Hello'),
];

describe('anthropic over HTTP', () => {
  it('streams text and reports the usage of the server', async () => {
    server.script({ text: ['Hel', 'lo'], usage: { input: 12, output: 7 } });
    const parts = await partsOf(await model(), { prompt });
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
    await partsOf(await model(), { prompt });
    const body = server.requests[0]?.body;
    expect(body?.system?.map((block) => [block.text, block.cache_control])).toEqual([
      ['Role.', undefined],
      ['Context.', { type: 'ephemeral' }],
    ]);
    expect(body).not.toHaveProperty('thinking');
    expect(JSON.stringify(body?.messages)).not.toContain('cache_control');
  });

  it.each([
    ['claude-sonnet-4-5', 'medium', { thinking: { type: 'enabled', budget_tokens: 8_192 }, output_config: undefined }],
    ['claude-opus-4-20250514', 'low', { thinking: { type: 'enabled', budget_tokens: 2_048 }, output_config: undefined }],
    ['claude-opus-4-6', 'low', { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }],
    ['claude-sonnet-5', 'high', { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
    ['claude-sonnet-4-5', 'off', { thinking: { type: 'disabled' }, output_config: undefined }],
  ])('sends %s the thinking effort %s as it takes it', async (name, effort, expected) => {
    server.script({ text: 'a' });
    const { model: claude } = await (await provider()).getModel(name, 'anthropic');
    await partsOf(claude, { prompt, providerOptions: { pith: { effort } } });
    const { thinking, output_config } = server.requests[0]!.body as unknown as Record<string, unknown>;
    expect({ thinking, output_config }).toEqual(expected);
  });

  it('closes the connection when the caller aborts', async () => {
    server.script({ text: ['one ', 'two '], stallAfter: 3 });
    const abort = new AbortController();
    const { stream } = await (await model()).doStream({ prompt, abortSignal: abort.signal });
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
    const failure = await failureOf(await model());
    expect(failure).toMatchObject({ statusCode: status, isRetryable: retryable, message: `no: ${status}` });
    expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure as object))).not.toContain('key-test');
  });

  it('fails when the connection is reset in the middle', async () => {
    server.script({ text: ['one ', 'two '], resetAfter: 3 });
    await expect(partsOf(await model(), { prompt })).rejects.toThrow(/terminated|closed|reset|network|process successful response/i);
  });

  it('V9 takes an address without the version too, and asks through the proxy that is set', async () => {
    server.script({ text: 'a' });
    const proxy = await proxyTo(new URL(server.url).origin);
    await partsOf(await model({ ANTHROPIC_BASE_URL: 'http://claude.corp/', http_proxy: `http://${proxy.address}` }), { prompt });
    expect(proxy.asked).toEqual(['POST http://claude.corp/v1/messages -']);
  });

  it('names the cure when there is no key', async () => {
    await expect(model({ ANTHROPIC_API_KEY: '' })).rejects.toMatchObject({ code: 'model_auth', cure: 'set ANTHROPIC_API_KEY' });
  });

  it('V9 says what is wrong with a key or a header, and not what it is', async () => {
    await expect(model({ ANTHROPIC_API_KEY: 'sk-canary ' })).rejects.toMatchObject({
      code: 'model_auth',
      message: expect.stringMatching(/the key for .* in ANTHROPIC_API_KEY cannot be sent: its character 10 is a blank$/),
    });
    const odd = await provider({ headers: { 'x-team': 'bl\u00e4u canary' } });
    await expect(odd.getModel('m', 'anthropic')).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.not.stringContaining('canary'),
    });
  });

  it('knows the context window of its models, and takes another from the settings', async () => {
    const [usual, larger] = [await provider(), await provider({ context_windows: { 'claude-sonnet-4-5': 1_000_000 } })];
    const windowOf = async (of: typeof usual, name: string) => (await of.getModel(name, 'anthropic')).contextWindow;
    expect(await windowOf(usual, 'claude-sonnet-4-5')).toBe(200_000);
    expect(await windowOf(larger, 'claude-sonnet-4-5')).toBe(1_000_000);
    expect(await windowOf(usual, 'other')).toBeNull();
  });
});
