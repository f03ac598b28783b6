import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { config } from '../../../sandbox/extensions/openai_compatible/config.ts';
import { contextWindowOf } from '../../../sandbox/extensions/openai_compatible/context-windows.ts';
import { endpointOf } from '../../../sandbox/extensions/openai_compatible/endpoint.ts';
import { startOpenAiServer, type OpenAiServer } from '../../fixtures/openai-server.ts';
import { providerOf } from '../model-parts.ts';
import { kernelOf } from '../../places.ts';

const secret = (secrets: Record<string, string>) => (name: string) => secrets[name] ?? null;
let server: OpenAiServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

describe('openai_compatible addresses', () => {
  it('uses OpenAI itself with a key alone, and names the cure without one', () => {
    expect(endpointOf('openai', config.parse({}), secret({ OPENAI_API_KEY: 'k' }))).toMatchObject({
      baseUrl: 'https://api.openai.com/v1',
      apiKey: 'k',
      official: true,
    });
    expect(() => endpointOf('openai', config.parse({}), secret({}))).toThrow(
      expect.objectContaining({ code: 'model_auth', cure: expect.stringContaining('OPENAI_API_KEY') }),
    );
  });

  it('needs no key at another address and forgives a trailing slash', () => {
    expect(endpointOf('openai', config.parse({}), secret({ OPENAI_BASE_URL: 'http://localhost:1234/v1/' }))).toMatchObject({
      baseUrl: 'http://localhost:1234/v1',
      apiKey: null,
      official: false,
    });
  });

  it('prefers providers.<prefix>, then its own settings, then the environment', () => {
    const env = secret({ OPENAI_BASE_URL: 'http://env/v1' });
    expect(endpointOf('openai', config.parse({}), env).baseUrl).toBe('http://env/v1');
    expect(endpointOf('openai', config.parse({ base_url: 'http://own/v1' }), env).baseUrl).toBe('http://own/v1');
    expect(
      endpointOf('openai', config.parse({ base_url: 'http://own/v1', providers: { openai: { base_url: 'http://settings/v1' } } }), env)
        .baseUrl,
    ).toBe('http://settings/v1');
  });

  it('never sends the OpenAI key to Ollama', () => {
    expect(endpointOf('ollama', config.parse({}), secret({ OPENAI_API_KEY: 'k' }))).toMatchObject({
      baseUrl: 'http://127.0.0.1:11434/v1',
      apiKey: null,
    });
  });

  it('refuses a prefix without an address and an address that is none', () => {
    expect(() => endpointOf('vllm', config.parse({}), secret({}))).toThrow(
      expect.objectContaining({ code: 'model_unknown', cure: 'set providers.vllm.base_url' }),
    );
    expect(() => endpointOf('openai', config.parse({}), secret({ OPENAI_BASE_URL: 'localhost:1234' }))).toThrow(
      expect.objectContaining({ code: 'model_unreachable' }),
    );
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

  it('is empty, with a reason in the log and no secret in it, when the server cannot be asked', async () => {
    const { kernel, sandbox } = await kernelOf({
      env: { OPENAI_API_KEY: 'sk-canary' },
      flags: { extensions: { openai_compatible: { base_url: 'http://127.0.0.1:1/v1' } } },
    });
    expect(await (await kernel.host.providers.models.of('openai_compatible')).models('openai')).toEqual([]);
    await kernel.stop(); // writes what it has buffered
    const log = await readFile(path.join(sandbox, 'data/logs/pith.log'), 'utf8');
    expect(log.split('\n').filter((line) => line.includes('openai_compatible'))).toHaveLength(1);
    expect(log).not.toContain('sk-canary');
  });

  it('rejects when its caller aborts', async () => {
    const provider = await providerOf('openai_compatible', { base_url: 'http://127.0.0.1:1/v1' }, {});
    await expect(provider.models('openai', AbortSignal.abort())).rejects.toThrow(/abort/i);
  });
});
