import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonValue, ModelCallOptions } from 'pith';
import { CONTEXT_LENGTH_EXCEEDED, startOpenAiServer, type OpenAiServer } from '../../fixtures/openai-server.ts';
import { failureOf, partsOf, providerOf, userText } from '../model-parts.ts';

let server: OpenAiServer;
beforeEach(async () => void (server = await startOpenAiServer()));
afterEach(() => server.close());

async function model(settings: Record<string, JsonValue> = {}, env: Record<string, string> = { OPENAI_API_KEY: 'sk-test' }) {
  const provider = await providerOf('openai_compatible', settings, { OPENAI_BASE_URL: server.url, ...env });
  return (await provider.getModel('test-model', 'openai')).model;
}

const prompt: ModelCallOptions['prompt'] = [{ role: 'system', content: 'Be brief.' }, userText('Hello')];

describe('openai_compatible over HTTP', () => {
  it('streams text as it arrives and reports the usage of the server', async () => {
    server.script({ text: ['Hel', 'lo ', '👋 wörld'], usage: { input: 12, output: 7 } });
    const parts = await partsOf(await model(), { prompt });
    expect(parts.filter((part) => part.type === 'text-delta').map((part) => part.delta)).toEqual(['Hel', 'lo ', '👋 wörld']);
    const finish = parts.at(-1);
    expect(finish).toMatchObject({
      type: 'finish',
      finishReason: { unified: 'stop' },
      usage: { inputTokens: { total: 12 }, outputTokens: { total: 7 } },
    });
    expect(server.requests[0]?.body).toMatchObject({
      model: 'test-model',
      stream: true,
      stream_options: { include_usage: true },
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ],
    });
    expect(server.requests[0]?.path).toBe('/v1/chat/completions');
    expect(server.requests[0]?.headers['authorization']).toBe('Bearer sk-test');
  });

  it('uses one connection for answers that are read to their end', async () => {
    const opened = await model();
    for (const text of ['first', 'second', 'third']) {
      server.script({ text });
      await partsOf(opened, { prompt });
    }
    expect(new Set(server.requests.map(({ connection }) => connection)).size).toBe(1);
  });

  it('closes the connection when the caller stops reading', async () => {
    server.script({ text: ['one ', 'two ', 'three'], stallAfter: 2 });
    const { stream } = await (await model()).doStream({ prompt });
    for await (const part of stream) if (part.type === 'text-delta') break;
    expect(await server.requests[0]?.abandoned).toBe(true);
  });

  it.each([
    [400, false],
    [422, false],
    [429, true],
    [500, true],
    [503, true],
  ])('rejects status %i with its code and whether it may be tried again', async (status, retryable) => {
    server.script({ status, headers: { 'retry-after': '7' }, error: { message: `no: ${status}` } });
    const failure = await failureOf(await model());
    expect(failure).toMatchObject({
      statusCode: status,
      isRetryable: retryable,
      message: `no: ${status}`,
      responseHeaders: { 'retry-after': '7' },
    });
  });

  it('lets the reason of a prompt that does not fit be told from the error', async () => {
    server.script(CONTEXT_LENGTH_EXCEEDED);
    const failure = await failureOf(await model());
    expect(failure).toMatchObject({ statusCode: 400, isRetryable: false, data: { error: { code: 'context_length_exceeded' } } });
  });

  it('fails, and does not end as if complete, when the connection is reset in the middle', async () => {
    server.script({ text: ['one ', 'two ', 'three'], resetAfter: 2 });
    await expect(partsOf(await model(), { prompt })).rejects.toThrow(/terminated|closed|reset|network/i);
  });

  it('passes an error that arrives inside the stream on as an error part', async () => {
    server.script({ text: 'a', streamError: { message: 'overloaded', type: 'server_error' } });
    const parts = await partsOf(await model(), { prompt });
    expect(parts.find((part) => part.type === 'error')).toMatchObject({ error: expect.objectContaining({ message: 'overloaded' }) });
  });

  it('marks a server that cannot be reached as worth another try', async () => {
    const unreachable = await model({ base_url: 'http://127.0.0.1:1/v1' });
    const failure = await failureOf(unreachable);
    expect(failure).toMatchObject({ isRetryable: true });
  });

  it('sends configured headers, and no authorization where there is no key', async () => {
    server.script({ text: 'a' });
    await partsOf(await model({ headers: { 'x-team': 'blue' } }, {}), { prompt });
    expect(server.requests[0]?.headers['x-team']).toBe('blue');
    expect(server.requests[0]?.headers['authorization']).toBeUndefined();
  });
});
