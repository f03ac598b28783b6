import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request, type OutgoingHttpHeaders } from 'node:http';
import { connect, createServer, type AddressInfo } from 'node:net';
import os from 'node:os';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fakeClock, type TestKernelOptions } from 'pith/testing';
import { manifest } from '../../core/process/extension.ts';
import { kernelOf } from '../../places.ts';
import { collectSpans } from '../../span-collector.ts';
import { passing, until } from '../../waiting.ts';

interface Asked {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Several: sent in chunks, without a length. */
  readonly body?: string | readonly string[];
}

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** An extension that answers below these prefixes with what its request was, unless `answer` says otherwise. */
function routes(
  id: string,
  prefixes: readonly string[],
  answer = `return { status: 200, body: JSON.stringify({ by: '${id}', ...request }) };`,
) {
  return routesOf(
    id,
    `async routes() { return { prefixes: ${JSON.stringify(prefixes)}, mostBytes: 64 }; }\nasync answer(request) { ${answer} }`,
  );
}

function routesOf(id: string, body: string) {
  return {
    ...manifest(id, { provides: ['http.routes'], depends_on: ['http'] }),
    [`extensions/${id}/main.ts`]: `import { RouteProvider } from 'pith/http';
export default class {
  constructor(context) { context.provide(RouteProvider, this); }
  ${body}
}
`,
  };
}

/** A kernel that listens on a free port. */
async function served(settings: object = {}, { files = routes('echo', ['/echo']), ...options }: TestKernelOptions = {}) {
  const pith = await kernelOf({
    only: ['http'],
    serve: { port: 0 },
    ...options,
    files: { 'pith.yaml': JSON.stringify({ extensions: { http: settings } }), ...files },
  });
  let text = '';
  pith.kernel.events.handle('service.ready', (event) => void (text = event.text));
  await pith.kernel.start();
  const isListening = () => text !== '';
  const listening = () => until(() => isListening() && text);
  const port = async () => Number(/:(\d+)$/u.exec(await listening())?.[1]);
  const ask = async (target: string, { method = 'GET', headers = {}, body = [] }: Asked = {}) => {
    const at = await port();
    return new Promise<Answered>((resolve, reject) => {
      const asked = request({ port: at, host: '127.0.0.1', path: target, method, headers, agent: false }, async (answer) => {
        const parts: string[] = [];
        for await (const part of answer.setEncoding('utf8')) parts.push(String(part));
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: parts.join('') });
      });
      asked.on('error', reject);
      for (const part of typeof body === 'string' ? [] : body) asked.write(part);
      asked.end(typeof body === 'string' ? body : undefined);
    });
  };
  const log = () => readFile(`${pith.sandbox}/data/logs/pith.log`, 'utf8').catch(() => ''); // nothing was logged yet
  return { pith, ask, port, isListening, listening, log };
}

const addressIn = ({ text }: Answered) => (JSON.parse(text) as { address: string }).address;

describe('the listener of pith serve', () => {
  it('U51 answers a request in the trace that it names, whatever extension answers, and without one in none', async () => {
    collectSpans();
    const traceOf = `const { trace } = await import('@opentelemetry/api'); return { status: 200, body: trace.getActiveSpan()?.spanContext().traceId ?? 'none' };`;
    const { ask } = await served({}, { files: routes('echo', ['/echo'], traceOf) });
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const traced = await ask('/echo', { method: 'POST', body: 'hi', headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` } });
    expect([traced.text, (await ask('/echo')).text]).toEqual([traceId, 'none']);
  });

  it('listens to this machine only, and ends with the kernel', async () => {
    const own = [globalThis.Request, globalThis.Response];
    const { pith, ask, listening, port } = await served();
    expect(await listening()).toMatch(/^Listening on http:\/\/127\.0\.0\.1:\d+$/u);
    expect([globalThis.Request, globalThis.Response]).toEqual(own);
    expect(await ask('/health')).toMatchObject({ status: 200, text: 'ok', headers: { 'x-content-type-options': 'nosniff' } });
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
    const { ask } = await served({ hosts: ['Hooks.Example.org', 'Bücher.example', '2001:DB8::1'] });
    const status = async (host: string) => (await ask('/health', { headers: { host } })).status;
    const names = ['localhost', 'LOCALHOST:7484', '[::1]:7484', 'hooks.example.org', 'HOOKS.example.ORG:443', 'xn--bcher-kva.example'];
    for (const host of names) expect([host, await status(host)]).toEqual([host, 200]);
    for (const host of ['evil.example', 'hooks.example.org.evil.example', 'sub.hooks.example.org', '[2001:db8::2]'])
      expect([host, await status(host)]).toEqual([host, 421]);
    for (const host of ['hooks.example.org@evil.example', 'a b']) expect([400, 421]).toContain(await status(host));
    expect((await ask('http://evil.example/health')).status).toBe(421);
  });

  it('hands on what is below a prefix, as it came, and nothing else', async () => {
    const { ask } = await served();
    const { status, text } = await ask('/echo/a%2Fb/%E2%82%AC?q=1%202&q=3', { method: 'POST', headers: { 'X-Mixed': 'v' }, body: 'é' });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({
      method: 'POST',
      path: '/echo/a%2Fb/%E2%82%AC',
      query: { q: '3' },
      headers: { 'x-mixed': 'v' },
      body: Buffer.from('é').toString('base64'),
      tooLarge: false,
      address: '127.0.0.1',
    });
    for (const target of ['/echo', '/echo/', '/nothing/../echo/x', '/nothing/%2e%2e/echo']) expect((await ask(target)).status).toBe(200);
    for (const target of ['/', '/nothing', '/echoes', '/ECHO', '/%65cho', '/echo%2Fx', '//echo', '/echo/../nothing'])
      expect([target, (await ask(target)).status]).toEqual([target, 404]);
  });

  it('M76 reads no body beyond what the extension takes, whether its length is said or not, and says so', async () => {
    const { ask } = await served(
      {},
      { files: routes('echo', ['/echo'], 'return { status: request.tooLarge ? 413 : 200, body: request.body };') },
    );
    const post = (body: string | readonly string[]) => ask('/echo', { method: 'POST', body });
    const fits = 'x'.repeat(64);
    expect(await post(fits)).toMatchObject({ status: 200, text: Buffer.from(fits).toString('base64') });
    expect(await post([fits.slice(1), 'x'])).toMatchObject({ status: 200, text: Buffer.from(fits).toString('base64') });
    expect(await post(`${fits}x`)).toMatchObject({ status: 413, text: '' });
    expect(await post([fits, 'x'])).toMatchObject({ status: 413, text: '' });
    expect((await post('x'.repeat(1024 * 1024))).status).toBe(413);
    expect((await ask('/echo')).status).toBe(200);
  });

  it('ends a body that is too slow, and logs no error where one is broken off', async () => {
    const clock = fakeClock(Date.now());
    const { pith, ask, port, log } = await served({}, { clock });
    const at = await port();
    const half = () => {
      const socket = connect({ host: '127.0.0.1', port: at });
      onTestFinished(() => void socket.destroy());
      let said = '';
      socket.on('data', (part) => (said += String(part)));
      socket.write('POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n123');
      return { socket, said: () => said, closed: once(socket, 'close') };
    };
    expect((await ask('/echo')).status).toBe(200); // its extension is loaded: time that passes meanwhile would end that
    const slow = half();
    await passing(clock, () => slow.said().startsWith('HTTP/1.1 408 '), 10_000);
    await slow.closed;
    const gone = half();
    await once(gone.socket, 'connect');
    gone.socket.destroy();
    await gone.closed;
    expect((await ask('/echo')).status).toBe(200);
    await pith.kernel.stop();
    expect(await log()).not.toContain('a request was not answered');
  });

  it('of two extensions with one prefix always the same answers; one that says nothing costs only itself', async () => {
    const files = {
      ...routes('aaa', ['/both', '/left']),
      ...routes('bbb', ['/both', '/right']),
      ...routesOf('ab', "async routes() { throw new Error('broken'); }\nasync answer() {}"),
    };
    const { ask } = await served({}, { files });
    const by = async (target: string) => (JSON.parse((await ask(target)).text) as { by: string }).by;
    const answers = await Promise.all(['/both', '/left', '/right', '/both/x', '/both'].map(by));
    expect(answers).toEqual(['aaa', 'aaa', 'bbb', 'aaa', 'aaa']);
  });

  it('a route that throws, or answers what cannot be sent, gives 500 without its text', async () => {
    const answers = {
      '/throws': "throw new Error('SECRET');",
      '/status': "return { status: 1000, body: 'SECRET' };",
      '/header': "return { status: 200, headers: { x: 'SECRET\\n' + String.fromCharCode(0x20AC) } };",
      '/nothing': 'return undefined;',
      '/empty': 'return { status: 204 };',
      '/page': "return { status: 200, headers: { 'Content-Type': 'text/html' }, body: '<p>' };",
    };
    const body = `const found = { ${Object.entries(answers)
      .map(([at, code]) => `'${at}': () => { ${code} }`)
      .join(', ')} }; return found[request.path]();`;
    const { ask, log } = await served({}, { files: routes('odd', Object.keys(answers), body) });
    for (const target of ['/throws', '/status', '/header', '/nothing'])
      expect([target, await ask(target)]).toMatchObject([target, { status: 500, text: 'something went wrong' }]);
    expect(await ask('/empty')).toMatchObject({ status: 204, text: '' });
    expect(await ask('/page')).toMatchObject({ status: 200, text: '<p>', headers: { 'content-type': 'text/html' } });
    await until(async () => (await log()).includes('SECRET'));
    expect((await ask('/health')).status).toBe(200);
  });

  it('M75 believes X-Forwarded-For behind the proxies of the settings only', async () => {
    const headers = { 'x-forwarded-for': '10.9.9.9, 203.0.113.5' };
    expect(addressIn(await (await served()).ask('/echo', { headers }))).toBe('127.0.0.1');
    const proxied = await served({ trusted_proxies: ['127.0.0.0/8', '203.0.113.5'] });
    expect(addressIn(await proxied.ask('/echo', { headers }))).toBe('10.9.9.9');
    expect(addressIn(await proxied.ask('/echo', { headers: { 'x-forwarded-for': ['10.9.9.9', '198.51.100.7'] } }))).toBe('198.51.100.7');
    expect(addressIn(await proxied.ask('/echo', { headers: { 'x-forwarded-for': 'nobody, ::ffff:198.51.100.7' } }))).toBe('198.51.100.7');
    expect(addressIn(await proxied.ask('/echo', { headers: { 'x-forwarded-for': '10.9.9.9, nobody' } }))).toBe('127.0.0.1');
  });

  it.skipIf(Object.values(os.networkInterfaces()).every((each) => each?.every(({ family }) => family !== 'IPv6')))(
    'M75 gives an IPv4 address within IPv6 as IPv4 (needs IPv6)',
    async () => {
      const { ask, listening } = await served({ host: '::', trusted_proxies: ['127.0.0.1'] });
      expect(await listening()).toMatch(/^Listening on http:\/\/\[::\]:\d+$/u);
      expect(addressIn(await ask('/echo'))).toBe('127.0.0.1');
      expect(addressIn(await ask('/echo', { headers: { 'x-forwarded-for': '198.51.100.7' } }))).toBe('198.51.100.7');
    },
  );

  it('S5 connections that send no request are bounded, in all and of each address, and end; the others are served', async () => {
    const { ask, port, log } = await served({
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
    expect((await ask('/health')).status).toBe(200);
    for (const each of ['127.0.0.3', '127.0.0.3', '127.0.0.3']) await open(each);
    expect((await ask('/health')).status).toBe(200);
    for (const each of ['127.0.0.1', '127.0.0.2']) await open(each);
    await until(() => said('4 in all')); // it is said once for each flood, and the first is over
  });

  it('says that a port is taken, and listens once it is free', async () => {
    const clock = fakeClock(Date.now());
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { ask, isListening, log } = await served({}, { clock, serve: { port } });
    await passing(clock, async () => (await log()).includes(`port ${port} of 127.0.0.1 is taken`), 100);
    other.close();
    await passing(clock, isListening);
    expect((await ask('/health')).status).toBe(200);
  });
});
