import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { guardedRequest, type OutgoingOptions } from '@pith/guarded-fetch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { proxyFor } from '../../../packages/guarded-fetch/proxies.ts';
import { proxyTo } from '../../fixtures/proxy-server.ts';
import { serverOf } from '../../places.ts';

const found = (url: string, set: Readonly<Record<string, string>>) => proxyFor(new URL(url), (name) => set[name] ?? null)?.host ?? null;

it('T31 a server that is no proxy is said to be none', async () => {
  const plain = await serverOf((_request, response) => void response.end());
  const ask = guardedRequest({
    allow: ['https://a.example'],
    elsewhere: 'refused',
    proxies: (name) => (name === 'HTTPS_PROXY' ? plain : null),
  });
  await expect(ask('https://a.example/', {})).rejects.toMatchObject({
    message: expect.stringMatching(/^127\.0\.0\.1:\d+, which HTTPS_PROXY names as a proxy, closed the connection \(ECONNRESET\)/u),
    cure: 'see whether it is a proxy; correct or unset HTTPS_PROXY',
  });
});

describe('V9 the proxy for an address', () => {
  it.each([
    ['https://a.example/', { HTTPS_PROXY: 'http://p:3128' }, 'p:3128'],
    ['https://a.example/', { HTTP_PROXY: 'http://p:3128' }, null],
    ['http://a.example/', { HTTP_PROXY: 'http://p:3128' }, 'p:3128'],
    ['http://a.example/', { HTTPS_PROXY: 'http://p:3128' }, null],
    ['http://a.example/', { ALL_PROXY: 'http://p:3128' }, 'p:3128'],
    ['https://a.example/', { ALL_PROXY: 'http://all:1', HTTPS_PROXY: 'http://p:2' }, 'p:2'],
    ['https://a.example/', { HTTPS_PROXY: ' ', ALL_PROXY: 'http://all:1' }, 'all:1'],
    ['https://a.example/', { HTTPS_PROXY: 'p:3128' }, 'p:3128'],
    ['https://a.example/', { HTTPS_PROXY: 'proxy' }, 'proxy:80'],
    ['https://a.example/', { HTTPS_PROXY: 'https://p' }, 'p:443'],
    ['https://a.example/', { HTTPS_PROXY: 'http://[2001:db8::1]:8080' }, '[2001:db8::1]:8080'],
    ['https://a.example/', { HTTPS_PROXY: 'http://me:secret@p:1' }, 'p:1'],
    ['https://a.example/', {}, null],
    // this machine itself
    ['http://localhost:11434/', { ALL_PROXY: 'p' }, null],
    ['http://x.localhost/', { ALL_PROXY: 'p' }, null],
    ['http://127.1.2.3:1/', { ALL_PROXY: 'p' }, null],
    ['http://[::1]/', { ALL_PROXY: 'p' }, null],
    ['http://192.168.1.5/', { ALL_PROXY: 'p' }, 'p:80'],
  ])('%s with %j is %s', (url, set, expected) => {
    expect(found(url, set)).toBe(expected);
  });

  it.each([
    ['a.example', ['a.example', 'A.EXAMPLE.', 'example', '.example', '*.example', 'x,a.example', ' x  a.example ', '*', 'a.example:443']],
    ['sub.a.example', ['a.example', '.a.example', '*.a.example']],
    ['192.168.1.5', ['192.168.1.5', '192.168.0.0/16', '192.168.1.5:443']],
    ['[2001:db8::1]', ['2001:db8::1', '2001:DB8:0::1', '[2001:db8::1]', '[2001:db8::1]:443', '2001:db8::/32']],
  ])('NO_PROXY leaves out %s by each of %j', (host, lists) => {
    for (const list of lists) expect([list, found(`https://${host}/`, { ALL_PROXY: 'p', NO_PROXY: list })]).toEqual([list, null]);
  });

  it.each([
    ['a.example', ['', ',', ' ', 'b.example', 'xample', 'sub.a.example', 'a.example:80', '.', '*.', 'a.example/', '1.2.3.4', 'a']],
    ['xa.example', ['a.example']],
    ['192.168.1.5', ['168.1.5', '.5', '192.168.1.0/30', '192.168.1.5:80', '192.168', 'not/16', '192.168.1.5/99']],
    ['[2001:db8::1]', ['2001:db8::2', '[2001:db8::1]:80', '::/128']],
  ])('NO_PROXY does not leave out %s by any of %j', (host, lists) => {
    for (const list of lists) expect([list, found(`https://${host}/`, { ALL_PROXY: 'p', NO_PROXY: list })]).toEqual([list, 'p:80']);
  });

  it.each(['socks5://me:secret@p:1080', 'http://', 'http://me:secret@', 'ftp://p', 'http://me:secret@a b'])(
    '%s is no proxy, and its password is not said',
    (value) => {
      const failing = () => found('https://a.example/', { HTTPS_PROXY: value });
      expect(failing).toThrow(expect.objectContaining({ code: 'proxy_failed', cure: expect.stringContaining('HTTPS_PROXY') }));
      expect(failing).not.toThrow(/secret/);
    },
  );
});

const asking = (proxy: string, more: OutgoingOptions = {}, variable = 'ALL_PROXY') =>
  guardedRequest({ resolve: async () => ['93.184.215.14'], proxies: (name) => (name === variable ? proxy : null), ...more });
const echo = () => serverOf((request, response) => void response.end(`${request.method} ${request.headers.host}`));

describe('V9 a request through a proxy', () => {
  it('goes to what a person named by its name, with what opens the proxy and nothing of it for the server', async () => {
    const proxy = await proxyTo(await serverOf((request, response) => void response.end(JSON.stringify(request.headers))));
    const answer = await asking(`http://me:p%40ss@${proxy.address}`, { allow: ['http://models.corp:8000'] })(
      'http://models.corp:8000/v1?a=1#b',
      {
        method: 'POST',
        headers: { authorization: 'Bearer k' },
        body: 'x',
      },
    );
    expect(JSON.parse(await answer.text())).toMatchObject({ authorization: 'Bearer k', host: 'models.corp:8000' });
    expect(proxy.asked).toEqual([`POST http://models.corp:8000/v1?a=1 Basic ${Buffer.from('me:p@ss').toString('base64')}`]);
  });

  it('T17 reaches only the address that was looked at, where nobody named the host', async () => {
    const proxy = await proxyTo(await echo());
    expect(await (await asking(proxy.address)('http://a.example/')).text()).toBe('GET a.example');
    expect(proxy.asked).toEqual(['CONNECT 93.184.215.14:80 -']);
    const refused = { code: 'address_refused' };
    await expect(asking(proxy.address, { resolve: async () => ['10.0.0.1'] })('http://a.example/')).rejects.toMatchObject(refused);
    await expect(asking(proxy.address)('http://10.0.0.1/')).rejects.toMatchObject(refused);
    await expect(asking(proxy.address, { elsewhere: 'refused' })('http://a.example/')).rejects.toMatchObject(refused);
    const unknown = { resolve: async () => Promise.reject(new Error('ENOTFOUND')) };
    await expect(asking(proxy.address, unknown)('http://a.example/')).rejects.toMatchObject({
      ...refused,
      cure: expect.stringContaining('settings'),
    });
    expect(proxy.asked).toHaveLength(1);
  });

  it('T17 is looked at again where a redirect leads', async () => {
    const proxy = await proxyTo(
      await serverOf((_request, response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end()),
    );
    await expect(asking(proxy.address)('http://a.example/')).rejects.toMatchObject({ code: 'address_refused' });
  });

  it('is encrypted to the server itself, by its name: the proxy sees no more than where to', async () => {
    let hello: Buffer = Buffer.from('');
    const server = createTcpServer((socket) => socket.once('data', (bytes: Buffer) => ((hello = bytes), socket.destroy()))).listen(
      0,
      '127.0.0.1',
    );
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const proxy = await proxyTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const asked = asking(proxy.address, { allow: ['https://models.example'] }, 'HTTPS_PROXY')('https://models.example/secret-path');
    await expect(asked).rejects.toThrow('fetch failed');
    expect([...hello.subarray(0, 2)]).toEqual([22, 3]); // a handshake of TLS
    expect(hello.toString('latin1')).toContain('models.example');
    expect(proxy.asked).toEqual(['CONNECT models.example:443 -']);
  });

  it.each([
    [
      407,
      'Proxy Authentication Required',
      /does not connect to models\.example:443 \(407 Proxy/,
      /ALL_PROXY=http:\/\/user:password@127/,
      false,
    ],
    [403, 'Forbidden', /\(403 Forbidden\)/, /NO_PROXY/, false],
    [502, 'Bad Gateway', /\(502 Bad Gateway\)/, /NO_PROXY/, true],
  ])('that refuses with %i says so, without the password', async (status, words, message, cure, retryable) => {
    const proxy = await proxyTo(await echo(), status, words);
    const failed = asking(`http://me:secret@${proxy.address}`, { allow: ['https://models.example'] })('https://models.example/');
    await expect(failed).rejects.toMatchObject({
      code: 'proxy_failed',
      retryable,
      message: expect.stringMatching(message),
      cure: expect.stringMatching(cure),
    });
    await expect(failed).rejects.not.toThrow(/secret/);
  });

  it('ends where the proxy is gone, says nothing, or nobody waits any more', async () => {
    const allow = ['https://models.example'];
    const gone = asking('http://me:secret@127.0.0.1:1', { allow })('https://models.example/');
    await expect(gone).rejects.toMatchObject({
      code: 'proxy_failed',
      message: expect.stringMatching(/127\.0\.0\.1:1, which ALL_PROXY names, .*ECONNREFUSED/),
    });
    const silent = createServer()
      .on('connect', () => undefined)
      .listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close().closeAllConnections());
    await once(silent, 'listening');
    const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    await expect(asking(address, { allow, silenceMs: 30 })('https://models.example/')).rejects.toMatchObject({
      code: 'proxy_failed',
      retryable: true,
    });
    await expect(asking(address, { allow, timeoutMs: 30 })('https://models.example/')).rejects.toMatchObject({ code: 'limit_reached' });
    const reason = new Error('left');
    const leaving = new AbortController();
    const asked = asking(address, { allow })('https://models.example/', { signal: leaving.signal });
    setImmediate(() => leaving.abort(reason));
    await expect(asked).rejects.toBe(reason);
  });

  it('is not made where the host is excepted', async () => {
    const server = await serverOf((_request, response) => void response.end('direct'));
    const { port } = new URL(server);
    const ask = guardedRequest({
      allow: [`http://excepted.example:${port}`],
      resolve: async () => ['127.0.0.1'],
      proxies: (name) => ({ ALL_PROXY: 'http://127.0.0.1:1', NO_PROXY: '.example' })[name] ?? null,
    });
    expect(await (await ask(`http://excepted.example:${port}/`)).text()).toBe('direct');
  });
});
