import { afterEach, describe, expect, it } from 'vitest';
import { config } from '../../../sandbox/extensions/openai_compatible/config.ts';
import { contextWindowOf } from '../../../sandbox/extensions/openai_compatible/listing.ts';
import { endpointOf } from '../../../sandbox/extensions/openai_compatible/endpoint.ts';
import { startOpenAiServer, type OpenAiServer } from '../../fixtures/openai-server.ts';
import { providerOf } from '../model-parts.ts';
import { kernelOf, serverOf } from '../../places.ts';

let server: OpenAiServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

describe('openai_compatible addresses', () => {
  const endpoint = (prefix: string, settings: object, secrets: Record<string, string>) =>
    endpointOf(prefix, config.parse(settings), (name) => secrets[name] ?? null);
  const OWN = { base_url: 'http://own/v1' };
  const LOCAL = { baseUrl: 'http://127.0.0.1:11434/v1', apiKey: null };

  it.each([
    ['a key alone', 'openai', {}, { OPENAI_API_KEY: 'k' }, { baseUrl: 'https://api.openai.com/v1', apiKey: 'k', official: true }],
    [
      'another address, also with a slash at its end',
      'openai',
      {},
      { OPENAI_BASE_URL: 'http://localhost:1234/v1/' },
      { baseUrl: 'http://localhost:1234/v1', apiKey: null, official: false },
    ],
    ['its own settings before the default', 'openai', OWN, { OPENAI_API_KEY: 'k' }, { baseUrl: 'http://own/v1', apiKey: 'k' }],
    [
      'providers.<prefix> before its own settings',
      'openai',
      { ...OWN, providers: { openai: { base_url: 'http://settings/v1' } } },
      {},
      { baseUrl: 'http://settings/v1' },
    ],
    [
      'U-10 T5 the environment before settings, without the key and the headers that were set for another server',
      'openai',
      { headers: { 'x-shared': 's' }, providers: { openai: { base_url: 'http://own/v1', api_key_env: 'OWN', headers: { 'x-own': 'o' } } } },
      { OPENAI_BASE_URL: 'http://env/v1', OPENAI_API_KEY: 'k', OWN: 'own' },
      { baseUrl: 'http://env/v1', apiKey: 'k', headers: {} },
    ],
    [
      'T5 the key and the headers of the same server',
      'openai',
      { providers: { openai: { base_url: 'http://env/v2', api_key_env: 'OWN', headers: { 'x-own': 'o' } } } },
      { OPENAI_BASE_URL: 'http://env/v1', OPENAI_API_KEY: 'k', OWN: 'own' },
      { baseUrl: 'http://env/v1', apiKey: 'own', headers: { 'x-own': 'o' } },
    ],
    [
      'T5 its own settings for another prefix',
      'vllm',
      { providers: { vllm: OWN } },
      { OPENAI_BASE_URL: 'http://env/v1' },
      { baseUrl: 'http://own/v1' },
    ],
    ['Ollama, which never gets the key of OpenAI', 'ollama', {}, { OPENAI_API_KEY: 'k' }, LOCAL],
  ])('takes %s', (_what, prefix, settings, secrets, expected) => {
    expect(endpoint(prefix, settings, secrets)).toMatchObject(expected);
  });

  it.each([
    ['OpenAI without a key', 'openai', {}, { code: 'model_auth', cure: expect.stringContaining('OPENAI_API_KEY') }],
    ['a prefix without an address', 'vllm', {}, { code: 'model_unknown', cure: 'set providers.vllm.base_url' }],
    ['an address that is none', 'openai', { OPENAI_BASE_URL: 'localhost:1234' }, { code: 'model_unreachable' }],
    [
      'V9 a key with a letter of another script',
      'openai',
      { OPENAI_API_KEY: 'sk-\u0430bc' },
      {
        code: 'model_auth',
        message: 'the key for api.openai.com that is set in OPENAI_API_KEY cannot be sent: its character 4 is a letter of another script',
        cure: 'copy the key again, and set OPENAI_API_KEY',
      },
    ],
    [
      'V9 a key with the end of its line',
      'openai',
      { OPENAI_API_KEY: 'sk-abc\n' },
      { message: expect.stringMatching(/its character 7 is the end of a line$/) },
    ],
  ])('refuses %s, with the cure', (_what, prefix, secrets, failure) => {
    expect(() => endpoint(prefix, {}, secrets)).toThrow(expect.objectContaining(failure));
    expect(config.safeParse({ base_url: 'file:///etc/passwd' }).success).toBe(false);
  });

  it('knows documented context windows by the longest beginning, and says null for a local server', () => {
    expect(contextWindowOf('gpt-4.1-mini', 'openai', {})).toBe(1_047_576);
    expect(contextWindowOf('gpt-4o-2024-08-06', 'openai', {})).toBe(128_000);
    expect(contextWindowOf('o1x', 'openai', {})).toBeNull();
    expect(contextWindowOf('gpt-4', 'ollama', {})).toBeNull();
    expect(contextWindowOf('llama3:8b', 'ollama', { llama3: 32_000 })).toBe(32_000);
  });
});

describe('T5 whose address and key are used', () => {
  const asked = async (env: Record<string, string>, settings: string) => {
    const { run } = await kernelOf({ env, files: { 'pith.yaml': settings } });
    await run('hi');
  };

  it.each([
    ['openai', 'OPENAI', 'authorization', 'Bearer k'],
    ['anthropic', 'ANTHROPIC', 'x-api-key', 'k'],
  ])('those of the environment before those of the settings, over HTTP: %s', async (prefix, word, header, sent) => {
    const hits: string[] = [];
    const place = (name: string) =>
      serverOf((request, response) => {
        hits.push(`${name} ${String(request.headers[header])}`);
        response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}');
      });
    const [a, b] = [await place('A'), await place('B')];
    const settings = `providers: { ${prefix}: { base_url: "${a}/v1" } }\n`;
    const key = { [`${word}_API_KEY`]: 'k', PITH_MODEL: `${prefix}/m` };
    await asked({ ...key, [`${word}_BASE_URL`]: `${b}/v1` }, settings);
    expect([...new Set(hits.splice(0))]).toEqual([`B ${sent}`]);
    await asked(key, settings);
    expect([...new Set(hits.splice(0))]).toEqual([`A ${sent}`]);
  });
});

describe('openai_compatible models()', () => {
  it('lists what the server offers, in its order', async () => {
    server = await startOpenAiServer({ models: ['zeta', 'alpha'] });
    const provider = await providerOf('openai_compatible', { context_windows: { alpha: 1000 } }, { OPENAI_BASE_URL: server.url });
    expect(await provider.models('openai')).toEqual([
      { name: 'zeta', contextWindow: null },
      { name: 'alpha', contextWindow: 1000 },
    ]);
    expect(server.requests[0]).toMatchObject({ method: 'GET', path: '/v1/models' });
  });

  it('V7 says why the server cannot be asked, and where nothing else is set, so does the choice of a model', async () => {
    const address = await serverOf((_request, response) => void response.end('<html><title>Log in</title>'));
    const { kernel } = await kernelOf({ env: { OPENAI_API_KEY: 'sk-canary', OPENAI_BASE_URL: `${address}/v1` } });
    const failure = {
      code: 'model_unreachable',
      message: expect.stringMatching(/did not list its models: it sent a web page \('Log in'\)$/),
    };
    const provider = await kernel.host.providers.models.of('openai_compatible');
    await expect(provider.models('openai')).rejects.toMatchObject(failure);
    await expect(kernel.router.choose()).rejects.toMatchObject(failure);
    await expect(provider.models('openai')).rejects.not.toThrow('canary');
  });

  it('rejects when its caller aborts', async () => {
    const provider = await providerOf('openai_compatible', { base_url: 'http://127.0.0.1:1/v1' }, {});
    await expect(provider.models('openai', AbortSignal.abort())).rejects.toThrow(/abort/i);
  });
});
