import type { JsonValue, PithError } from 'pith';
import { EmbeddingProvider } from 'pith/embedding';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { config } from '../../../sandbox/extensions/embedding/config.ts';
import { endpointOf } from '../../../sandbox/extensions/embedding/endpoint.ts';
import { conceptVector, startEmbeddingsServer, type Behaviour, type EmbeddingsServer } from '../../fixtures/embeddings-server.ts';
import { proxyTo } from '../../fixtures/proxy-server.ts';
import { kernelOf } from '../../places.ts';

const KEY = 'sk-secret-of-mine';

describe('R4 the extension embedding', () => {
  let server: EmbeddingsServer;
  beforeAll(async () => {
    server = await startEmbeddingsServer();
  });
  beforeEach(() => {
    server.behave('well');
    server.requests.length = 0;
  });
  afterAll(() => server.close());

  async function extension(values: Record<string, JsonValue> = {}, env: Record<string, string> = {}) {
    const flags = { extensions: { embedding: { model: 'concepts', base_url: server.url, ...values } } };
    const { kernel } = await kernelOf({ only: ['embedding'], env: { EMBEDDING_API_KEY: KEY, ...env }, flags });
    return (await kernel.host.providers.active(EmbeddingProvider)).find(({ extensionId }) => extensionId === 'embedding')!;
  }
  const query = { purpose: 'query' } as const;

  it('V9 asks for texts in batches, through the proxy that is set, and gives a vector for each, in their order', async () => {
    const texts = ['one', 'compress', 'three', 'images', 'five'];
    const proxy = await proxyTo(new URL(server.url).origin);
    const asked = await extension({ batch: 2, base_url: 'http://vectors.corp/v1' }, { http_proxy: `http://${proxy.address}` });
    expect(await asked.embed(texts, query)).toEqual(texts.map((text) => conceptVector(text)));
    expect(server.requests.map(({ input }) => input.length)).toEqual([2, 2, 1]);
    expect(server.requests[0]).toMatchObject({ model: 'concepts', authorization: `Bearer ${KEY}` });
    expect(proxy.asked).toEqual(texts.slice(2).map(() => 'POST http://vectors.corp/v1/embeddings -'));
  });

  it('names its vectors by model and length, and says null where no model is set', async () => {
    expect((await extension()).embeddingModel).toBe('concepts');
    expect((await extension({ dimensions: 16 })).embeddingModel).toBe('concepts:16');
    expect((await extension({ model: null })).embeddingModel).toBeNull();
  });

  it.each<[string, Behaviour, string, RegExp]>([
    [
      'refuses the key',
      { status: 401, says: `wrong key ${KEY}` },
      'model_auth',
      /refused the key that is set in EMBEDDING_API_KEY \(401\)/,
    ],
    ['has no such model', { status: 404 }, 'model_unknown', /no model 'concepts'/],
    ['refuses the request', { status: 400 }, 'model_failed', /refused the request \(400\)/],
    ['is busy', { status: 503 }, 'model_failed', /answered 503/],
    ['sends too few vectors', { body: () => ({ data: [] }) }, 'model_failed', /sent 0 vectors for 2 texts/],
    [
      'sends what is no number',
      { body: (texts) => ({ data: texts.map(() => ({ embedding: [1, null] })) }) },
      'model_failed',
      /not made of numbers/,
    ],
    ['sends two lengths', { body: () => ({ data: [{ embedding: [1] }, { embedding: [1, 2] }] }) }, 'model_failed', /different lengths/],
    ['V7 says why it refuses', { status: 400, says: 'input is too long' }, 'model_failed', /\(400\): input is too long/],
    ['V7 fails with status 200', { body: () => ({ error: { message: 'no GPU' } }) }, 'model_failed', /sent no vectors: no GPU/],
    ['sends something else', { body: () => 'hello' }, 'model_failed', /sent no vectors: hello/],
  ])('a server that %s is an error that says what to do, without the key', async (_name, behaviour, code, message) => {
    server.behave(behaviour);
    const error = await (await extension()).embed(['a', 'b'], query).catch((thrown: unknown) => thrown as PithError);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(JSON.stringify([String(error), (error as PithError).cure])).not.toContain(KEY);
    expect(server.requests).toHaveLength(1);
  });

  it('a server that hangs is given up after its time, and one that is busy is an error that says to wait', async () => {
    server.behave('hang');
    await expect((await extension({ timeout_s: 0.02 })).embed(['a'], query)).rejects.toMatchObject({ code: 'model_unreachable' });
    server.release();
    server.behave({ status: 429, headers: { 'retry-after': '7' } });
    const asked = (await extension()).embed(['b', 'c'], { purpose: 'document' });
    await expect(asked).rejects.toMatchObject({ code: 'model_rate_limited', retryAfterMs: 7000, cure: expect.stringContaining('wait') });
  });

  it('the key for OpenAI goes to no address that is named for embeddings only', () => {
    const secrets = (given: Record<string, string>) => (name: string) => given[name] ?? null;
    const own = config.parse({ model: 'm', base_url: 'https://elsewhere.example/v1' });
    expect(endpointOf(own, secrets({ OPENAI_API_KEY: KEY })).apiKey).toBeNull();
    expect(endpointOf(own, secrets({ OPENAI_API_KEY: KEY, EMBEDDING_API_KEY: 'mine' })).apiKey).toBe('mine');
    const shared = config.parse({ model: 'm' });
    expect(endpointOf(shared, secrets({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' })).apiKey).toBe(KEY);
    expect(endpointOf(shared, secrets({ OPENAI_API_KEY: KEY })).address).toBe('https://api.openai.com/v1/embeddings');
    expect(() => endpointOf(shared, secrets({}))).toThrow(/no key is set for OpenAI/);
  });
});
