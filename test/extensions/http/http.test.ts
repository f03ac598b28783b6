import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import os from 'node:os';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonValue } from 'pith';
import { fakeClock, type TestKernelOptions } from 'pith/testing';
import { configSchema } from '../../../sandbox/extensions/http/config.ts';
import { collectSpans } from '../../span-collector.ts';
import { passing, until } from '../../waiting.ts';
import { routes, routesOf } from './routes-of.ts';
import { type Answered, servedKernel } from './served-kernel.ts';

const both = (path: string) => [`GET ${path}`, `POST ${path}`];
/** Other servers call it, so bodies of all types come as they are. */
const HOOK = { fromServers: true, mostBytes: 64 };

async function served(
  settings: object = {},
  { files = routes('echo', [...both('/echo'), ...both('/echo/{rest...}')], { more: HOOK }), ...options }: TestKernelOptions = {},
) {
  return servedKernel({ settings, files, ...options });
}

const addressIn = ({ json }: Answered) => (json as { address: string }).address;

describe('the listener of pith serve', () => {
  it('U51 answers a request in the trace that it names, whatever extension answers, and without one in none', async () => {
    collectSpans();
    const answer = `const { trace } = await import('@opentelemetry/api'); return { status: 200, body: trace.getActiveSpan()?.spanContext().traceId ?? 'none' };`;
    const { request } = await served({}, { files: routes('echo', both('/echo'), { answer, more: HOOK }) });
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const traced = await request('/echo', { method: 'POST', body: 'hi', headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` } });
    expect([traced.text, (await request('/echo')).text]).toEqual([traceId, 'none']);
  });

  it('W1 listens to this machine only, and ends with the kernel', async () => {
    const own = [globalThis.Request, globalThis.Response];
    expect(configSchema().parse({})).toMatchObject({ host: '127.0.0.1', port: 7484 }); // without settings
    const { pith, request, ready, port } = await served();
    await port();
    expect(ready()).toMatch(/^Listening on http:\/\/127\.0\.0\.1:\d+; to call it, make a token: pith tokens new$/u);
    expect([globalThis.Request, globalThis.Response]).toEqual(own);
    expect(await request('/health')).toMatchObject({ status: 200, text: 'ok', headers: { 'x-content-type-options': 'nosniff' } });
    const other = Object.values(os.networkInterfaces())
      .flatMap((each) => each ?? [])
      .find(({ internal, family }) => !internal && family === 'IPv4');
    const reached = async (host: string, at: number) => {
      const socket = connect({ host, port: at });
      return once(socket, 'connect').then(
        () => (socket.destroy(), true),
        () => false,
      );
    };
    const at = await port();
    expect(await reached('127.0.0.1', at)).toBe(true);
    expect(other !== undefined && (await reached(other.address, at))).toBe(false);
    await pith.kernel.stop();
    expect(await reached('127.0.0.1', at)).toBe(false);
  });

  it('answers to the names of this machine and those of the settings, in whatever case they are written', async () => {
    const { request } = await served({ hosts: ['Hooks.Example.org', 'Bücher.example', '2001:DB8::1'] });
    const status = async (host: string) => (await request('/health', { headers: { host } })).status;
    const names = ['localhost', 'LOCALHOST:7484', '[::1]:7484', 'hooks.example.org', 'HOOKS.example.ORG:443', 'xn--bcher-kva.example'];
    for (const host of names) expect([host, await status(host)]).toEqual([host, 200]);
    for (const host of ['evil.example', 'hooks.example.org.evil.example', 'sub.hooks.example.org', '[2001:db8::2]'])
      expect([host, await status(host)]).toEqual([host, 421]);
    for (const host of ['hooks.example.org@evil.example', 'a b']) expect([400, 421]).toContain(await status(host));
    expect((await request('http://evil.example/health')).status).toBe(421);
  });

  it('W1 hands on what a route fits, with its parameters decoded, and answers what none fits itself', async () => {
    const { request } = await served(
      {},
      {
        files: {
          ...routes('echo', ['POST /echo/{one}/{two}', 'GET /echo/{one}', 'GET /echo/new', 'GET /files/{rest...}'], { more: HOOK }),
        },
      },
    );
    const { status, json } = await request('/echo/a%2Fb/%E2%82%AC?q=1%202&q=3', { method: 'POST', headers: { 'X-Mixed': 'v' }, body: 'é' });
    expect([status, json]).toMatchObject([
      200,
      {
        route: 'POST /echo/{one}/{two}',
        path: '/echo/a%2Fb/%E2%82%AC',
        params: { one: 'a/b', two: '€' },
        query: { q: ['1 2', '3'] },
        headers: { 'x-mixed': 'v' },
        bytes: 'é',
        address: '127.0.0.1',
        caller: null,
      },
    ]);
    expect((await request('/echo/new')).json).toMatchObject({ route: 'GET /echo/new', params: {} });
    expect((await request('/echo/old')).json).toMatchObject({ route: 'GET /echo/{one}', params: { one: 'old' } });
    expect((await request('/files/a/b%20c.txt')).json).toMatchObject({ params: { rest: 'a/b c.txt' } });
    for (const path of ['/', '/nothing', '/echo', '/echo/', '/ECHO/new', '/echo%2Fnew', '/echo/new/', '/files', '/files/', '/files/a%2Fb'])
      expect([path, await request(path)]).toMatchObject([path, { status: 404, json: { error: { code: 'not_found' } } }]);
    expect(await request('/echo/new', { method: 'DELETE' })).toMatchObject({ status: 405, headers: { allow: 'GET' } });
    expect(await request('/echo/new', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
  });

  it('W31 refuses a path that two programs could read as two', async () => {
    const { request } = await served({}, { files: routes('echo', ['GET /echo/{rest...}', 'GET /echo/one/{id}'], { more: HOOK }) });
    const tricks = [
      '//echo/a',
      '/echo//a',
      '/echo/./a',
      '/nothing/../echo/a',
      '/nothing/%2e%2e/echo/a',
      '/echo/..%2f..%2fetc',
      '/echo/%2e',
    ];
    for (const path of [...tricks, '/echo/a%00b', '/echo/a%5cb', '/echo/%zz', '/echo/%ff', '/echo/one/..%2fa', '/echo/a%0d%0ab'])
      expect([path, await request(path)]).toMatchObject([path, { status: 400, json: { error: { code: 'path_invalid' } } }]);
    expect((await request('/echo/a%2Fb')).status).toBe(404);
  });

  it('M76 W31 reads no body beyond the limit of its route, whether its length is said or not', async () => {
    const { request } = await served();
    const post = (body: string | readonly string[]) => request('/echo', { method: 'POST', body });
    const fits = 'x'.repeat(64);
    expect(await post(fits)).toMatchObject({ status: 200, json: { bytes: fits } });
    expect(await post([fits.slice(1), 'x'])).toMatchObject({ status: 200, json: { bytes: fits } });
    for (const long of [`${fits}x`, [fits, 'x'], 'x'.repeat(1024 * 1024)])
      expect(await post(long)).toMatchObject({ status: 413, json: { error: { code: 'body_too_large' } } });
    expect((await request('/echo')).status).toBe(200);
  });

  it('W31 ends a body that is too slow, and logs no error where one is broken off', async () => {
    const clock = fakeClock(Date.now());
    const { pith, request, port, log } = await served({}, { clock });
    const at = await port();
    const half = () => {
      const socket = connect({ host: '127.0.0.1', port: at });
      onTestFinished(() => void socket.destroy());
      let said = '';
      socket.on('data', (part) => (said += String(part)));
      socket.write('POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n123');
      return { socket, said: () => said, closed: once(socket, 'close') };
    };
    expect((await request('/echo')).status).toBe(200); // its extension is loaded: time that passes meanwhile would end that
    const slow = half();
    await passing(clock, () => slow.said().startsWith('HTTP/1.1 408 '), 10_000);
    await slow.closed;
    const gone = half();
    await once(gone.socket, 'connect');
    gone.socket.destroy();
    await gone.closed;
    expect((await request('/echo')).status).toBe(200);
    await pith.kernel.stop();
    expect(await log()).not.toContain('a request was not answered');
  });

  it('W1 of two extensions with one route the first answers, with a warning; one that says nothing costs only itself', async () => {
    const files = {
      ...routes('aaa', ['GET /both', 'GET /left', 'GET /each/{id}']),
      ...routes('bbb', ['GET /both', 'GET /right', 'GET /each/{name}', 'POST /both']),
      ...routesOf('ab', "async routes() { throw new Error('broken'); }\nasync answer() {}"),
      ...routesOf('odder', 'async routes() { return [{}]; }\nasync answer() {}'),
      ...routes('odd', ['GET no-slash', 'GET /{a}/{a}', 'GET /{rest...}/more'], { more: { need: 'public' } }),
      ...routes('hook', ['POST /hook'], { more: { need: 'user', fromServers: true } }),
    };
    const { request, log } = await served({}, { files });
    const by = async (path: string) => ((await request(path)).json as { by: string }).by;
    expect(await Promise.all(['/both', '/left', '/right', '/each/1', '/both'].map(by))).toEqual(['aaa', 'aaa', 'bbb', 'aaa', 'aaa']);
    expect((await request('/both', { method: 'PUT' })).headers['allow']).toBe('GET, POST');
    expect((await request('/hook', { method: 'POST' })).status).toBe(404);
    await until(async () => {
      const said = await log();
      return ['aaa answers it already', 'two of its parameters have one name', 'only public routes are for other servers'].every((why) =>
        said.includes(why),
      );
    });
  });

  it('W1 routes are asked again when their extension is reloaded, or says that they have changed', async () => {
    const files = routesOf(
      'moody',
      `at = '/first';
  async routes() { return [this.at, '/turn'].map((path) => ({ method: 'GET', path, need: 'public', summary: 'Answer' })); }
  async answer({ path }) {
    if (path === '/turn') { this.at = '/second'; context.events.publish('provider.changed', { extensionId: 'moody', protocol: 'http.routes' }); }
    return { status: 204 };
  }`,
    );
    const { pith, request } = await served({}, { files });
    const statuses = async () => Promise.all(['/first', '/second', '/third'].map(async (path) => (await request(path)).status));
    expect(await statuses()).toEqual([204, 404, 404]);
    await request('/turn');
    expect(await statuses()).toEqual([404, 204, 404]);
    const main = files['extensions/moody/main.ts'] as string;
    await pith.write('extensions/moody/main.ts', main.replace("at = '/first'", "at = '/third'"));
    await pith.kernel.host.extensions.reload('moody');
    await until(async () => (await statuses()).join() === '404,404,204');
  });

  it('W1 while extensions are stopped, a route that was there answers 503, to be asked again, and not that there is nothing', async () => {
    const slow = `export default class {
  getTools() { return []; }
  async stop() { await new Promise((resolve) => { globalThis.letGo = resolve; }); }
}
`;
    const files = {
      ...routes('echo', ['GET /echo']),
      'extensions/slow/manifest.yaml': '{id: slow, entrypoint: main.ts, provides: [tool], depends_on: [http]}',
      'extensions/slow/main.ts': slow,
    };
    const { pith, request } = await served({}, { files });
    await pith.kernel.host.extensions.activateAll();
    expect((await request('/echo')).status).toBe(200);
    const stopping = pith.kernel.stop();
    const letGo = await until(() => (globalThis as { letGo?: () => void }).letGo ?? false, 9000);
    await until(async () => (await request('/echo')).status !== 200);
    expect(await request('/echo')).toMatchObject({
      status: 503,
      headers: { 'retry-after': '2' },
      json: {
        error: { code: 'stopped', message: expect.stringContaining("'echo' does not answer now"), cure: { text: 'ask again in a moment' } },
      },
    });
    expect((await request('/nothing')).status).toBe(404);
    letGo();
    await stopping;
  });

  it('W3 a route that throws, or answers what cannot be sent, gives 500 without its text; a PithError gives the status of its code', async () => {
    const answers = {
      '/throws': "throw new Error('SECRET');",
      '/status': "return { status: 1000, body: 'SECRET' };",
      '/header': "return { status: 200, headers: { x: 'SECRET\\n' + String.fromCharCode(0x20AC) } };",
      '/nothing': 'return undefined;',
      '/cycle': 'const json = {}; json.json = json; return { status: 200, json };',
      '/fault': "throw new PithError('provider_failed', 'SECRET');",
      '/system': "throw Object.assign(new Error('SECRET'), { code: 'ENOENT' });",
      '/empty': 'return { status: 204 };',
      '/page': "return { status: 200, headers: { 'Content-Type': 'text/html' }, body: '<p>' };",
      '/unknown': "throw new PithError('thread_unknown', 'there is no thread in ' + context.directory, { cure: 'look' });",
      '/invalid': "throw new PithError('input_invalid', 'no');",
      '/refused': "throw new PithError('not_allowed', 'no');",
      '/busy': "throw new PithError('thread_busy', 'no');",
      '/reason': "throw new PithError('skill_exists', 'there is one in ' + context.directory);",
      '/own': "return { status: 409, json: { error: { type: 'own', message: 'there is one in ' + context.directory } } };",
      '/much': "throw new PithError('limit_reached', 'no', { retryAfterMs: 1500 });",
    };
    const answer = `const found = { ${Object.entries(answers)
      .map(([at, code]) => `'${at}': () => { ${code} }`)
      .join(', ')} }; return found[request.path]();`;
    const paths = Object.keys(answers).map((path) => `GET ${path}`);
    const { pith, request, log } = await served({}, { files: routes('odd', paths, { answer }) });
    for (const path of ['/throws', '/status', '/header', '/nothing', '/cycle', '/fault', '/system']) {
      const answered = await request(path);
      expect([path, answered]).toMatchObject([path, { status: 500, json: { error: { code: 'internal' } } }]);
      expect(answered.text).not.toContain('SECRET');
    }
    expect(await request('/empty')).toMatchObject({ status: 204, text: '' });
    expect(await request('/page')).toMatchObject({ status: 200, text: '<p>', headers: { 'content-type': 'text/html' } });
    const unknown = await request('/unknown');
    expect(unknown).toMatchObject({ status: 404, json: { error: { code: 'thread_unknown', cure: { text: 'look' } } } });
    expect(unknown.text).not.toContain(pith.sandbox);
    const statuses = await Promise.all(['/invalid', '/refused', '/busy', '/reason'].map(async (path) => (await request(path)).status));
    expect(statuses).toEqual([400, 403, 409, 422]);
    expect((await request('/reason')).text).not.toContain(pith.sandbox);
    expect((await request('/own')).json).toMatchObject({ error: { type: 'own', message: expect.stringMatching(/in sandbox\//u) } });
    expect(await request('/much')).toMatchObject({ status: 429, headers: { 'retry-after': '2' } });
    await until(async () => (await log()).includes('SECRET'));
    expect((await request('/health')).status).toBe(200);
  });

  it('W1 a body and a query are checked by their schemas before the extension is asked, and given as these read them', async () => {
    const files = routesOf(
      'strict',
      `async routes() {
    const body = z.strictObject({ text: z.string().max(5), list: z.array(z.int()).default([]) });
    const query = z.object({ limit: z.coerce.number().int().default(20) });
    return [{ method: 'POST', path: '/strict', need: 'public', summary: 'Answer', body, query, upload: ['application/zip'] }];
  }
  async answer({ body = null, query, bytes }) { return { status: 200, json: { body, query, bytes: bytes.length } }; }`,
    );
    const { request } = await served({}, { files });
    const post = (json: JsonValue, path = '/strict') => request(path, { method: 'POST', json });
    expect((await post({ text: 'hi' }, '/strict?limit=3&more=1')).json).toEqual({
      body: { text: 'hi', list: [] },
      query: { limit: 3 },
      bytes: 0,
    });
    const refused = async (answer: Promise<Answered>) => ((await answer).json as { error: { code: string; message: string } }).error;
    expect(await refused(post({ text: 'hi', list: [1, 'two'] }))).toMatchObject({
      code: 'body_invalid',
      message: expect.stringMatching(/^body\.list\.1: /u),
    });
    expect(await refused(post({ text: 'too long' }))).toMatchObject({
      code: 'body_invalid',
      message: expect.stringContaining('body.text'),
    });
    expect(await refused(post({ text: 'hi' }, '/strict?limit=many'))).toMatchObject({
      code: 'query_invalid',
      message: expect.stringContaining('query.limit'),
    });
    const raw = (body: string | Uint8Array, type?: string) =>
      request('/strict', { method: 'POST', body, headers: type === undefined ? {} : { 'content-type': type } });
    for (const body of ['{"text": ', '', new Uint8Array([0x22, 0xff, 0x22])])
      expect([(await raw(body, 'application/json')).status, await refused(raw(body, 'application/json'))]).toMatchObject([
        400,
        { code: 'body_invalid' },
      ]);
    expect((await raw('{"text":"hi"}', 'Application/JSON; charset=utf-8')).status).toBe(200);
    expect((await raw('PK', 'application/zip')).json).toEqual({ body: null, query: { limit: 20 }, bytes: 2 });
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', undefined])
      expect([type, (await raw('{"text":"hi"}', type)).status]).toEqual([type, 415]);
  });

  describe('W1 streams', () => {
    /** Its stream says what it is at in the log of the test: a global that both know. */
    const streams = (body: string, more = '') =>
      routesOf(
        'streams',
        `async routes() { return [{ method: 'GET', path: '/stream', need: 'public', summary: 'Stream' }]; }
  async answer({ signal }) {
    const said = (globalThis.streamsOfTest ??= []);
    signal.addEventListener('abort', () => said.push('left'));
    return { status: 200, headers: { 'content-type': 'text/event-stream' }, body: (async function* () { try { ${body} } finally { said.push('ended'); } })(), ${more} };
  }`,
      );
    const said = (): string[] => {
      const list: string[] = [];
      (globalThis as { streamsOfTest?: string[] }).streamsOfTest = list;
      return list;
    };

    it('W1 arrive part by part, and end with the last one', async () => {
      const list = said();
      const { open } = await served(
        {},
        { files: streams("yield Buffer.from('one'); await new Promise((resolve) => said.push(resolve)); yield Buffer.from('two');") },
      );
      const { status, headers, parts } = await open('/stream');
      expect([status, headers['content-type'], (await parts.next()).value]).toEqual([200, 'text/event-stream', 'one']);
      (await until(() => list.length > 0 && (list[0] as never as () => void)))();
      expect([(await parts.next()).value, (await parts.next()).done]).toEqual(['two', true]);
      await until(() => list.includes('ended'));
      expect(list).not.toContain('left');
    });

    it('W1 end when the client leaves, also while the next part is being made', async () => {
      const list = said();
      const { open, request } = await served(
        {},
        { files: streams("yield Buffer.from('one'); await new Promise((resolve) => signal.addEventListener('abort', resolve));") },
      );
      const { parts, leave } = await open('/stream');
      await parts.next();
      leave();
      await until(() => list.includes('left') && list.includes('ended'));
      expect((await request('/stream', { method: 'HEAD' })).status).toBe(200);
    });

    it('W1 end when the client left before they began, and when they cannot be sent', async () => {
      const list = said();
      const slow = routesOf(
        'streams',
        `async routes() { return ['/slow', '/odd'].map((path) => ({ method: 'GET', path, need: 'public', summary: 'Stream' })); }
  async answer({ path, signal }) {
    const { streamsOfTest: said } = globalThis;
    said.push('asked ' + path);
    if (path === '/slow') await new Promise((resolve) => signal.addEventListener('abort', resolve));
    const parts = { next: async () => ({ done: true, value: undefined }), return: async () => (said.push('ended ' + path), { done: true }) };
    return { status: path === '/odd' ? 1000 : 200, body: { [Symbol.asyncIterator]: () => parts } };
  }`,
      );
      const { port, request } = await served({}, { files: slow });
      const socket = connect({ host: '127.0.0.1', port: await port() });
      socket.write('GET /slow HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
      await until(() => list.includes('asked /slow'));
      socket.destroy();
      await until(() => list.includes('ended /slow'));
      expect((await request('/odd')).status).toBe(500);
      await until(() => list.includes('ended /odd'));
    });

    it('W1 are pulled no faster than the client reads', async () => {
      const list = said();
      const { open } = await served(
        {},
        { files: streams('for (let made = 0; made < 10_000; made += 1) { said[0] = made; yield new Uint8Array(64 * 1024); }') },
      );
      const { parts, leave } = await open('/stream');
      await parts.next();
      const settled = async (): Promise<number> => {
        for (let before = -1; ;) {
          const now = Number(list[0]);
          if (now === before) return now;
          before = now;
          await Promise.all(Array.from({ length: 50 }, () => new Promise((resolve) => setImmediate(resolve))));
        }
      };
      expect(await settled()).toBeLessThan(2000);
      leave();
      await until(() => list.includes('ended'));
    });

    it('W1 end when their extension is reloaded, and when Pith stops', async () => {
      const list = said();
      const { pith, open } = await served(
        {},
        { files: streams("yield Buffer.from('one'); await new Promise((resolve) => signal.addEventListener('abort', resolve));") },
      );
      const cutOff = async (end: () => Promise<unknown>) => {
        const { parts } = await open('/stream');
        await parts.next();
        const next = parts.next().then(
          () => 'ended',
          () => 'cut off',
        );
        await end();
        return next;
      };
      expect(await cutOff(() => pith.kernel.host.extensions.reload('streams'))).toBe('cut off');
      expect(await cutOff(() => pith.kernel.stop())).toBe('cut off');
      expect(list.filter((each) => each === 'ended')).toHaveLength(2);
    });

    it('W20 W23 a stream that fails ends with what its interface says of that, and the log has its route and the reason', async () => {
      const failed = "failed: (error) => Buffer.from('said: ' + error.message)";
      const { request, log } = await served({}, { files: streams("yield Buffer.from('one, '); throw new Error('BROKEN');", failed) });
      expect(await request('/stream')).toMatchObject({ status: 200, text: 'one, said: BROKEN' });
      await until(async () => /GET \/stream.*BROKEN.*a stream failed/u.test(await log()));
    });

    it('W1 a stream that fails is cut off, so that nobody takes it for whole', async () => {
      const list = said();
      const { open, log } = await served(
        {},
        { files: streams("yield Buffer.from('one'); await new Promise((resolve) => said.push(resolve)); throw new Error('BROKEN');") },
      );
      const { parts } = await open('/stream');
      await parts.next();
      const next = parts.next();
      (await until(() => list.length > 0 && (list[0] as never as () => void)))();
      await expect(next).rejects.toThrow('aborted');
      await until(async () => (await log()).includes('BROKEN'));
    });
  });

  it('M75 believes X-Forwarded-For behind the proxies of the settings only', async () => {
    const headers = { 'x-forwarded-for': '10.9.9.9, 203.0.113.5' };
    expect(addressIn(await (await served()).request('/echo', { headers }))).toBe('127.0.0.1');
    const proxied = await served({ trusted_proxies: ['127.0.0.0/8', '203.0.113.5'] });
    expect(addressIn(await proxied.request('/echo', { headers }))).toBe('10.9.9.9');
    expect(addressIn(await proxied.request('/echo', { headers: { 'x-forwarded-for': ['10.9.9.9', '198.51.100.7'] } }))).toBe(
      '198.51.100.7',
    );
    expect(addressIn(await proxied.request('/echo', { headers: { 'x-forwarded-for': 'nobody, ::ffff:198.51.100.7' } }))).toBe(
      '198.51.100.7',
    );
    expect(addressIn(await proxied.request('/echo', { headers: { 'x-forwarded-for': '10.9.9.9, nobody' } }))).toBe('127.0.0.1');
  });

  it.skipIf(Object.values(os.networkInterfaces()).every((each) => each?.every(({ family }) => family !== 'IPv6')))(
    'M75 gives an IPv4 address within IPv6 as IPv4 (needs IPv6)',
    async () => {
      const { request, ready, token } = await served({ host: '::', trusted_proxies: ['127.0.0.1'] });
      await token();
      await until(() => ready() !== '');
      expect(ready()).toMatch(
        /^Listening on http:\/\/\[::\]:\d+, which other machines reach, unencrypted; to call it, make a token: pith tokens new$/u,
      );
      expect(addressIn(await request('/echo'))).toBe('127.0.0.1');
      expect(addressIn(await request('/echo', { headers: { 'x-forwarded-for': '198.51.100.7' } }))).toBe('198.51.100.7');
    },
  );

  it('S5 connections that send no request are bounded, in all and of each address, and end; the others are served', async () => {
    const { request, port, log } = await served({
      connections: 4,
      connections_per_address: 2,
      header_seconds: 1,
      trusted_proxies: ['127.0.0.3'],
    });
    const at = await port();
    const open = async (localAddress: string) => {
      const socket = connect({ host: '127.0.0.1', port: at, localAddress });
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => undefined).on('data', () => undefined);
      await once(socket, 'connect').catch(() => undefined); // closed at once
      socket.write('G');
      return socket;
    };
    const said = async (why: string) => (await log()).includes(`"why":"${why}"`);
    const held = [await open('127.0.0.1'), await open('127.0.0.1')];
    await open('127.0.0.1'); // the third of one address
    await until(() => said('2 of one address'));
    await until(() => held.every(({ closed }) => closed), 20_000); // none has sent its headers; without our limit Node waits for 30 s
    expect((await request('/health')).status).toBe(200);
    for (const each of ['127.0.0.3', '127.0.0.3', '127.0.0.3']) await open(each);
    expect((await request('/health')).status).toBe(200);
    for (const each of ['127.0.0.1', '127.0.0.2']) await open(each);
    await until(() => said('4 in all')); // it is said once for each flood, and the first is over
  });

  it('W32 nobody who has sent everything is cut off because the server was busy; who sends half is', async () => {
    const clock = fakeClock(Date.now());
    const { request, port } = await served({}, { clock });
    expect((await request('/echo')).status).toBe(200);
    const at = await port();
    const open = async () => {
      const socket = connect({ host: '127.0.0.1', port: at });
      onTestFinished(() => void socket.destroy());
      let said = '';
      socket.on('error', () => undefined).on('data', (part) => (said += String(part)));
      await once(socket, 'connect');
      return { socket, said: () => said };
    };
    const head = (more = '') => `GET /health HTTP/1.1\r\nhost: localhost\r\n${more}`;
    const [whole, half, again] = [await open(), await open(), await open()];
    again.socket.write(`${head()}\r\n`);
    await until(() => again.said().endsWith('ok'));
    await request('/health'); // the server has accepted them all
    whole.socket.write(`${head()}\r\n`);
    half.socket.write(head());
    await clock.advance(10_000); // as if the server had done something else for so long
    await until(() => half.said().startsWith('HTTP/1.1 408 ') && half.socket.closed);
    await until(() => whole.said().startsWith('HTTP/1.1 200 '));
    again.socket.write(head()); // a second request of a connection is limited too
    await passing(clock, () => again.said().includes('HTTP/1.1 408 '), 10_000);
    whole.socket.write(`${head('connection: close\r\n')}\r\n`);
    await until(() => whole.said().split('HTTP/1.1 200 ').length === 3);
  });

  it('says that a port is taken, and listens once it is free', async () => {
    const clock = fakeClock(Date.now());
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { request, ready, log } = await served({}, { clock, serve: { port } });
    await passing(clock, async () => (await log()).includes(`port ${port} of 127.0.0.1 is taken`), 100);
    other.close();
    await passing(clock, () => ready() !== '');
    expect((await request('/health')).status).toBe(200);
  });
});
