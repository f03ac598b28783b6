import { execFileSync } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { fieldsOf } from '@pith/plain-data';
import { RouteProvider } from 'pith/http';
import { fakeClock } from 'pith/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { networkOf } from '../../../sandbox/extensions/http/safety.ts';
import { passing, until } from '../../waiting.ts';
import { routes, routesOf, WHO } from './routes-of.ts';
import { type Asked, servedKernel } from './served-kernel.ts';

const served = (options: Parameters<typeof servedKernel>[0] = {}) => servedKernel({ files: WHO, ...options });

describe('the safety of the listener', () => {
  it('W3 W7 every answer has the headers that keep a browser from running, framing or guessing anything', async () => {
    const files = {
      ...WHO,
      ...routesOf(
        'odd',
        `async routes() { return ['/stream', '/broken', '/weak'].map((path) => ({ method: 'GET', path, need: 'public', summary: 'Answer' })); }
  async answer({ path }) {
    if (path === '/broken') throw new Error('broken');
    if (path === '/weak') return { status: 200, headers: { 'Content-Security-Policy': '*', 'x-frame-options': 'ALLOWALL', 'cache-control': 'max-age=60' }, body: '<p>' };
    return { status: 200, body: (async function* () { yield Buffer.from('x'); })() };
  }`,
      ),
    };
    const { request, token } = await served({ files });
    const made = await token();
    const asked: readonly (readonly [string, Asked, number])[] = [
      ['/health', {}, 200],
      ['/public', {}, 200],
      ['/user', { token: made }, 200],
      ['/user', {}, 401],
      ['/admin', { token: made }, 403],
      ['/nothing', {}, 404],
      ['/user', { method: 'PUT' }, 405],
      ['//', {}, 400],
      ['/health', { headers: { host: 'evil.example' } }, 421],
      ['/sign-in', { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } }, 415],
      ['/sign-in', { method: 'POST', json: {} }, 400],
      ['/stream', {}, 200],
      ['/broken', {}, 500],
      ['/weak', {}, 200],
    ];
    const policy =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-ancestors 'none'; " +
      "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
    for (const [path, how, status] of asked) {
      const answer = await request(path, how);
      expect([path, answer]).toMatchObject([
        path,
        {
          status,
          headers: {
            'content-security-policy': policy,
            'x-content-type-options': 'nosniff',
            'x-frame-options': 'DENY',
            'referrer-policy': 'no-referrer',
            'cross-origin-opener-policy': 'same-origin',
            'cross-origin-resource-policy': 'same-origin',
            'cache-control': path === '/weak' ? 'max-age=60' : 'no-store',
          },
        },
      ]);
      expect(
        Object.keys(answer.headers).filter((name) => name.startsWith('access-control') || name === 'server' || name === 'x-powered-by'),
      ).toEqual([]);
      const { code, message } = fieldsOf(fieldsOf(answer.json)['error']);
      const type = status < 400 ? 'undefined' : 'string';
      expect([path, typeof code, typeof message]).toEqual([path, type, type]);
    }
  });

  it('W3 W4 what a browser sends from another origin or site is refused, whoever it says it is', async () => {
    const { request, token, port } = await served();
    const made = await token();
    const own = `http://127.0.0.1:${await port()}`;
    const status = async (path: string, method: string, headers: Asked['headers']) =>
      (await request(path, { method, token: made, ...(headers === undefined ? {} : { headers }) })).status;
    const foreign = [
      'https://evil.example',
      'null',
      '',
      'http://127.0.0.1:1',
      `${own}.evil.example`,
      `http://localhost:${await port()}`,
      'file://',
      'chrome-extension://x',
    ];
    for (const method of ['GET', 'POST'])
      for (const path of ['/user', '/public'])
        for (const origin of foreign)
          expect([origin, method, path, await status(path, method, { origin })]).toEqual([origin, method, path, 403]);
    expect(await status('/user', 'POST', { origin: own })).toBe(200);
    expect(await status('/user', 'POST', { origin: own, 'sec-fetch-site': 'same-origin' })).toBe(200);
    expect(await status('/user', 'POST', {})).toBe(200); // a program
    for (const site of ['cross-site', 'same-site', 'none', 'odd'])
      for (const method of ['GET', 'POST']) expect([site, await status('/user', method, { 'sec-fetch-site': site })]).toEqual([site, 403]);
    const opened = async (site: string, method: string) => status('/public', method, { 'sec-fetch-site': site });
    expect([await opened('none', 'GET'), await opened('none', 'POST'), await opened('cross-site', 'GET')]).toEqual([200, 403, 403]);
  });

  it('W3 pages of other origins may call only where the settings name these, with a token and without the cookie', async () => {
    const origin = 'https://app.example.org';
    const preflight = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization, content-type' };
    const closed = await served();
    const refused = await closed.request('/user', { method: 'OPTIONS', headers: preflight });
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([405, undefined]);
    const { request, token } = await served({ settings: { origins: [`${origin}/`] } });
    expect(await request('/user', { method: 'OPTIONS', headers: preflight })).toMatchObject({
      status: 204,
      headers: {
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'GET, POST',
        'access-control-allow-headers': 'authorization, content-type',
      },
    });
    const answer = await request('/user', { method: 'POST', token: await token(), headers: { origin, 'sec-fetch-site': 'cross-site' } });
    expect(answer).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': origin, vary: 'Origin' } });
    expect(answer.headers).not.toHaveProperty('access-control-allow-credentials');
    const other = await request('/user', { method: 'OPTIONS', headers: { ...preflight, origin: 'https://evil.example' } });
    expect([other.status, other.headers['access-control-allow-origin']]).toEqual([405, undefined]);
    expect((await request('/user', { method: 'POST', headers: { origin } })).headers['access-control-allow-origin']).toBe(origin);
  });

  it('W3 requests a minute are limited, of each user and of each address, and say when to come again', async () => {
    const clock = fakeClock(Date.now());
    const { request, token } = await served({ clock, settings: { requests_per_user: 3, requests_per_address: 6 } });
    const [ada, grace] = [await token({ userId: 'ada' }), await token({ userId: 'grace' })];
    const statuses = async (times: number, how: Asked, path = '/user') => {
      const found: number[] = [];
      for (let each = 0; each < times; each += 1) found.push((await request(path, how)).status);
      return found;
    };
    expect(await statuses(5, { token: ada })).toEqual([200, 200, 200, 429, 429]);
    expect(await statuses(2, { token: grace })).toEqual([200, 429]);
    expect(await statuses(1, {}, '/nothing')).toEqual([429]);
    expect(await statuses(3, { token: grace, from: '127.0.0.2' })).toEqual([200, 200, 429]);
    expect((await request('/user', { token: ada, from: '127.0.0.3' })).headers['retry-after']).toBe('20');
    await clock.advance(20_000);
    expect(await statuses(2, { token: ada })).toEqual([200, 429]);
    expect((await request('/health')).headers['retry-after']).toBe('10');
  });

  it('W5 an address of IPv6 counts with its network, and one of IPv4 within IPv6 as that', async () => {
    expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe(networkOf('2001:db8:1:2::1'));
    expect(networkOf('2001:db8:1:2::1')).not.toBe(networkOf('2001:db8:1:3::1'));
    expect([networkOf('192.0.2.7'), networkOf('odd')]).toEqual(['192.0.2.7', 'odd']);
    const { request } = await served({ settings: { trusted_proxies: ['127.0.0.1'], requests_per_address: 2 } });
    const status = async (address: string) => (await request('/health', { headers: { 'x-forwarded-for': address } })).status;
    const found: number[] = [];
    for (const address of [
      '2001:db8::1',
      '2001:db8::2',
      '2001:db8::3',
      '2001:db8:0:1::1',
      '::ffff:192.0.2.7',
      '192.0.2.7',
      '192.0.2.7',
      '192.0.2.8',
    ])
      found.push(await status(address));
    expect(found).toEqual([200, 200, 429, 200, 200, 200, 429, 200]);
  });

  it('W3 an address that other machines reach is refused until somebody has a token, and is said loudly', async () => {
    const clock = fakeClock(Date.now());
    const { pith, ready, token, request, log } = await served({ clock, serve: { port: 0, host: '0.0.0.0' } });
    await pith.kernel.host.providers.remote('who', RouteProvider)?.routes(); // imported before time passes, which does not wait for that
    const failures: string[] = [];
    pith.kernel.events.handle('extension.failed', ({ message, cure }) => void failures.push(`${message}; ${cure}`));
    await passing(clock, async () => failures.length > 0 || (await log()).includes('nobody has a token yet'), 100);
    expect(ready()).toBe('');
    const made = await token({ userId: 'ada' });
    await passing(clock, () => ready() !== '', 1000);
    expect(ready()).toMatch(/^Listening on http:\/\/0\.0\.0\.0:\d+, which other machines reach, unencrypted; /u);
    expect((await request('/user', { token: made })).status).toBe(200);
    expect((await request('/user', { token: made, headers: { host: '0.0.0.0' } })).status).toBe(421);
  });

  it('W31 a sender of too much gets its answer, and no more than that is read', async () => {
    const files = routes('small', ['POST /small'], { more: { fromServers: true, mostBytes: 1024 } });
    const { port } = await served({ files });
    const socket = connect({ host: '127.0.0.1', port: await port() });
    onTestFinished(() => void socket.destroy());
    let said = '';
    socket.on('data', (part) => (said += String(part))).on('error', () => undefined);
    const closed = new Promise((resolve) => socket.once('close', resolve)); // after an error, perhaps
    socket.write('POST /small HTTP/1.1\r\nhost: localhost\r\ncontent-length: 999999999999\r\n\r\n');
    const more = (): void => {
      while (!socket.destroyed && socket.write(Buffer.alloc(64 * 1024)));
      socket.once('drain', more);
    };
    more();
    await closed;
    expect(said).toMatch(/^HTTP\/1\.1 413 /u);
    expect(socket.bytesWritten).toBeLessThan(64 * 1024 * 1024);
  });

  it('W31 idle connections, as many as this machine lets a process have up to 2,000, keep nobody from an answer', async () => {
    const most = Number(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' })) || 65_536;
    const count = Math.min(2000, Math.floor((most - 200) / 2));
    const flood = async (at: number): Promise<readonly Socket[]> => {
      const sockets: Socket[] = [];
      onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
      while (sockets.length < count) {
        const some = Math.min(100, count - sockets.length); // more at once than the system queues would not arrive
        for (let each = 0; each < some; each += 1)
          sockets.push(
            connect({ host: '127.0.0.1', port: at })
              .on('error', () => undefined)
              .resume(),
          );
        await until(() => sockets.every(({ connecting }) => !connecting));
      }
      return sockets;
    };
    const bounded = await served({ settings: { header_seconds: 1 } });
    const first = await flood(await bounded.port());
    expect((await bounded.request('/health', { from: '127.0.0.2' })).status).toBe(200);
    await until(() => first.every(({ closed }) => closed));
    await bounded.pith.kernel.stop();
    const open = await served({ settings: { connections: count + 10, connections_per_address: count + 10, header_seconds: 30 } });
    const second = await flood(await open.port());
    expect((await open.request('/health')).status).toBe(200);
    expect(second.filter(({ closed }) => !closed)).toHaveLength(count);
  });
});
