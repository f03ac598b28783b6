import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type TestKernel } from 'pith/testing';
import { CONTEXT_LENGTH_EXCEEDED, startOpenAiServer, type OpenAiServer } from '../../fixtures/openai-server.ts';
import { proxyTo } from '../../fixtures/proxy-server.ts';
import { until } from '../../waiting.ts';
import { kernelOf, serverOf } from '../../places.ts';

const KEY = 'sk-canary-1234567890';
let server: OpenAiServer;
let kernel: TestKernel;
beforeEach(async () => void (server = await startOpenAiServer()));
afterEach(() => server.close());

async function start(env: Record<string, string> = {}) {
  kernel = await kernelOf({ env: { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: server.url, ...env } });
  return kernel;
}

describe('a turn with a model behind HTTP', () => {
  it('uses the first model that the server lists, runs its parallel calls and sends their results back', async () => {
    const { run } = await start();
    server.script(
      {
        text: 'Looking. ',
        calls: [
          { id: 'a', name: 'list_skills', input: {} },
          { id: 'b', name: 'read_skill', input: { skill_id: 'code-review' } },
        ],
      },
      { text: 'All done.' },
    );
    const turn = await run('What is there?');
    expect(turn).toMatchObject({ reason: 'done', error: undefined, text: expect.stringContaining('All done.') });
    expect(turn.events.at(-1)).toMatchObject({ usage: { inputTokens: 20, outputTokens: 10 } });
    const chats = server.requests.filter((request) => request.method === 'POST');
    expect(chats.map((request) => request.body.model)).toEqual(['test-model', 'test-model']);
    expect(chats[0]?.body.tools?.map((tool) => tool.function.name)).toEqual(expect.arrayContaining(['list_skills', 'read_skill']));
    const results = chats[1]?.body.messages.filter((message) => message.role === 'tool') ?? [];
    expect(results.map((message) => message.tool_call_id)).toEqual(['a', 'b']);
    expect(String(results[1]?.content)).toContain('<skill id="code-review"');
  });

  it('finds a local server where nothing is set, and is not asked where something is', async () => {
    const flags = { providers: { ollama: { base_url: server.url } } };
    kernel = await kernelOf({ env: {}, flags });
    expect(await kernel.kernel.router.choose()).toEqual({
      ref: 'ollama/test-model',
      why: `a server listens on ${new URL(server.url).host}`,
    });
    await kernel.stop();
    const asked = server.requests.length;
    kernel = await kernelOf({ env: { ANTHROPIC_API_KEY: KEY }, flags });
    expect((await kernel.kernel.router.choose()).ref).toMatch(/^anthropic\//);
    expect(server.requests).toHaveLength(asked);
    expect(kernel.kernel.host.extensions.list().find(({ id }) => id === 'openai_compatible')?.state).toBe('idle');
  });

  it('takes the model that PITH_MODEL names at the address that is set, and sends the thinking effort of the settings', async () => {
    const env = { OPENAI_BASE_URL: server.url, PITH_MODEL: 'openai/my-model' };
    const { run } = (kernel = await kernelOf({ env, flags: { effort: 'low' } }));
    server.script({ text: 'Hi.' });
    expect((await run('Hello')).text).toBe('Hi.');
    expect(server.requests.map(({ method, body }) => [method, body])).toMatchObject([
      ['POST', { model: 'my-model', reasoning_effort: 'low' }],
    ]);
  });

  it('K61 takes the key from the variable that the settings name, and keeps it out of texts', async () => {
    kernel = await kernelOf({
      env: { MY_GATEWAY_KEY: KEY, PITH_MODEL: 'openai/m' },
      flags: { providers: { openai: { base_url: server.url, api_key_env: 'MY_GATEWAY_KEY' } } },
    });
    server.script({ text: 'Hi.' }, { status: 401, error: { message: `Incorrect API key provided: ${KEY}` } });
    expect(await kernel.run('Hello')).toMatchObject({ reason: 'done', text: 'Hi.' });
    expect(server.requests[0]?.headers['authorization']).toBe(`Bearer ${KEY}`);
    const turn = await kernel.run('Hello');
    expect(turn.error).toMatchObject({ code: 'model_auth', message: expect.stringContaining('MY_GATEWAY_KEY') });
    expect(JSON.stringify(turn.events)).not.toContain(KEY);
  });

  it('K61 ends with a clear error, without the key, when the key is refused', async () => {
    const { run } = await start({ PITH_MODEL: 'openai/m' });
    server.script({ status: 401, error: { message: `Incorrect API key provided: ${KEY}` } });
    const turn = await run('Hello');
    expect(turn).toMatchObject({ reason: 'error', error: { code: 'model_auth' } });
    expect(turn.error?.message).toContain(`${new URL(server.url).host} refused the key that is set in OPENAI_API_KEY (401)`);
    expect(turn.error?.message).toMatch(/; OPENAI_API_KEY comes from the environment$/u);
    expect(JSON.stringify(turn.events)).not.toContain(KEY);
  });

  it('K61 says that a server wants a key where none is set', async () => {
    const { run } = await start({ PITH_MODEL: 'openai/m', OPENAI_API_KEY: '' });
    server.script({ status: 401, error: { message: 'no key' } });
    const { error } = await run('Hello');
    expect(error).toMatchObject({
      code: 'model_auth',
      message: expect.stringMatching(/127\.0\.0\.1:\d+ wants a key .*none is set; set OPENAI_API_KEY/u),
    });
  });

  it('K44 names the models that the server has for one that it has not', async () => {
    const { run } = await start({ PITH_MODEL: 'openai/test-modle' });
    server.script({ status: 404, error: { message: 'no such model' } });
    const { error } = await run('Hello');
    expect(error?.code).toBe('model_unknown');
    expect(error?.message).toMatch(/has no model 'test-modle' \(404\); it has test-model.*; use one of them, such as openai\/test-model/u);
  });

  it('tries again after 429, waiting as long as the server asks', async () => {
    const { run } = await start({ PITH_MODEL: 'openai/m' });
    server.script({ status: 429, headers: { 'retry-after': '0' } }, { text: 'Now.' });
    expect(await run('Hello')).toMatchObject({ reason: 'done', text: 'Now.' });
  });

  it('says so when the conversation does not fit', async () => {
    const { run } = await start({ PITH_MODEL: 'openai/m' });
    server.script(CONTEXT_LENGTH_EXCEEDED, CONTEXT_LENGTH_EXCEEDED, CONTEXT_LENGTH_EXCEEDED);
    expect(await run('Hello')).toMatchObject({ reason: 'error', error: { code: 'model_context_too_long' } });
  });

  it('keeps what was said when the connection breaks in the middle, and names the reason', async () => {
    const { run } = await start({ PITH_MODEL: 'openai/m' });
    const broken = { text: ['One ', 'two ', 'three'], resetAfter: 3 };
    server.script(broken, broken, broken, broken, broken);
    const turn = await run('Hello');
    expect(turn.reason).toBe('error');
    expect(turn.error).toMatchObject({
      code: 'model_unreachable',
      message: expect.stringMatching(/the connection broke.*; send the message again/u),
    });
    expect(turn.error?.message).not.toContain('start the server');
  });

  it('aborts the request when the turn is aborted', async () => {
    const { run } = await start({ PITH_MODEL: 'openai/m' });
    server.script({ text: ['One ', 'two '], stallAfter: 2 });
    const abort = new AbortController();
    const turn = run('Hello', {}, abort.signal);
    await until(() => server.requests.length > 0);
    abort.abort();
    expect((await turn).reason).toBe('aborted');
    expect(await server.requests[0]?.abandoned).toBe(true);
  });

  it('V9 asks through the proxy that is set, whose password nobody sees, and this machine itself without it', async () => {
    const proxy = await proxyTo(new URL(server.url).origin);
    const password = 'open-sesame';
    const { run, kernel: running } = await start({
      PITH_MODEL: 'openai/m',
      OPENAI_BASE_URL: 'http://models.corp:8000/v1',
      http_proxy: `http://me:${password}@${proxy.address}`,
    });
    server.script({ text: `it is ${password} at ${proxy.address}` }, { text: 'direct' });
    expect((await run('Hello')).text).toBe(`it is [secret HTTP_PROXY] at ${proxy.address}`);
    expect(proxy.asked).toEqual([
      `POST http://models.corp:8000/v1/chat/completions Basic ${Buffer.from(`me:${password}`).toString('base64')}`,
    ]);
    const provider = await running.host.providers.models.of('openai_compatible');
    expect((await provider.models('openai')).map(({ name }) => name)).toEqual(['test-model', 'other-model']);
    await running.stop();
    const here = await start({ PITH_MODEL: 'openai/m', ALL_PROXY: 'socks5://me:secret@box:1' });
    expect(await here.run('Hello')).toMatchObject({ text: 'direct' });
  });

  it('V7 says what the server said, once, and asks again only what may pass', async () => {
    let body = '';
    let asked = 0;
    const address = await serverOf((_request, response) => {
      asked += 1;
      response.end(body);
    });
    const { run } = await start({ PITH_MODEL: 'openai/m', OPENAI_BASE_URL: `${address}/v1` });
    const whole = {
      object: 'chat.completion',
      choices: [{ message: { role: 'assistant', content: 'All of it.' }, finish_reason: 'stop' }],
    };
    for (const [sent, expected] of [
      [JSON.stringify(whole), { reason: 'done', text: 'All of it.' }],
      [
        '{"error":{"message":"no GPU\\u001b[2J","type":"x"}}',
        { error: { code: 'model_failed', message: 'model openai/m: no GPU\\x1b[2J' } },
      ],
      ['event: error\ndata: {"error":{"message":"no GPU"}}\n\n', { error: { message: 'model openai/m: no GPU' } }],
      [
        '<html><title>Log in</title>',
        { error: { message: expect.stringMatching(/no answer, but a web page \('Log in'\); check the address/) as string } },
      ],
    ] as const) {
      [body, asked] = [sent, 0];
      expect(await run('Hello', { threadId: `t${sent.length}` })).toMatchObject(expected);
      expect(asked).toBe(1);
    }
  });
});
