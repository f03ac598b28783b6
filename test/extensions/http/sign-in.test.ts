import { HttpUsers } from 'pith/http';
import { fakeClock } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { kernelOf } from '../../places.ts';
import { passing, until } from '../../waiting.ts';
import { routes, routesOf, WHO } from './routes-of.ts';
import { type Answered, type ServedKernel, servedKernel } from './served-kernel.ts';

const served = (options: Parameters<typeof servedKernel>[0] = {}) => servedKernel({ files: WHO, ...options });

/** The one-time code in a sign-in address. */
const codeIn = (address: string): string => /^http:\/\/127\.0\.0\.1:\d+\/#code=([\w-]{43})$/u.exec(address)?.[1] ?? '';

const users = ({ pith }: Pick<ServedKernel, 'pith'>) => {
  const remote = pith.kernel.host.providers.remote('http', HttpUsers);
  if (remote === null) throw new Error('http provides no users');
  return remote;
};

async function newCode(kernel: ServedKernel): Promise<string> {
  await kernel.port();
  return codeIn(await users(kernel).signInAddress());
}

const signIn = (kernel: ServedKernel, json: { readonly code: string } | { readonly token: string }, headers = {}) =>
  kernel.request('/sign-in', { method: 'POST', json, headers });

/** The headers with which a page calls after it has signed in. */
function pageOf({ headers, json }: Answered): { readonly cookie: string; readonly 'x-pith-page': string } {
  return { cookie: String(headers['set-cookie']).split(';')[0] ?? '', 'x-pith-page': (json as { readonly page: string }).page };
}

describe('signing in', () => {
  it('W1 W2 a code opens one session of the local administrator: the cookie and the value of the page are both needed', async () => {
    const kernel = await served();
    const code = await newCode(kernel);
    const answer = await signIn(kernel, { code });
    expect(answer).toMatchObject({ status: 200, json: { userId: 'local', role: 'admin', may: 'admin' } });
    expect(answer.headers['set-cookie']).toMatch(/^pith_[0-9a-f]{12}=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=2592000$/u);
    const page = pageOf(answer);
    expect((await kernel.request('/admin', { headers: page })).json).toMatchObject({ caller: { userId: 'local', may: 'admin' } });
    const other = pageOf(await signIn(kernel, { code: await newCode(kernel) }));
    const parts = [{ cookie: page.cookie }, { 'x-pith-page': page['x-pith-page'] }, { ...page, 'x-pith-page': other['x-pith-page'] }];
    for (const headers of [...parts, { ...page, 'x-pith-page': '' }, { ...page, cookie: page.cookie.slice(0, -1) }])
      expect((await kernel.request('/user', { headers })).status).toBe(401);
    expect((await kernel.request('/user', { token: page.cookie.split('=')[1] ?? '' })).status).toBe(401);
    expect((await kernel.request('/user', { headers: { ...page, cookie: `other=1; ${page.cookie}; pith_x=2` } })).status).toBe(200);
    expect((await signIn(kernel, { code })).status).toBe(401);
  });

  it('W2 of two who use one code at once, one gets a session; a code is valid for five minutes', async () => {
    const clock = fakeClock(Date.now());
    const kernel = await served({ clock });
    const code = await newCode(kernel);
    const answers = await Promise.all(Array.from({ length: 5 }, () => signIn(kernel, { code })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401]);
    const late = await newCode(kernel);
    await clock.advance(5 * 60_000);
    expect((await signIn(kernel, { code: late })).status).toBe(401);
  });

  it('W2 a token opens a session that may do what it may, and that ends with it', async () => {
    const kernel = await served();
    const token = await kernel.token({ userId: 'ada', may: 'approve', expires: '1d' });
    const answer = await signIn(kernel, { token });
    expect(answer).toMatchObject({ status: 200, json: { userId: 'ada', role: 'user', may: 'approve' } });
    expect(answer.headers['set-cookie']).toMatch(/Max-Age=86(?:399|400)$/u);
    const headers = pageOf(answer);
    expect((await kernel.request('/approve', { headers })).status).toBe(200);
    expect((await kernel.request('/admin', { headers })).status).toBe(403);
    const [{ id }] = (await users(kernel).tokens()) as never as readonly [{ readonly id: string }];
    expect((await users(kernel).tokens()).map(({ kind, userId }) => [kind, userId])).toEqual([
      ['token', 'ada'],
      ['session', 'ada'],
    ]);
    await users(kernel).revoke(id);
    expect((await kernel.request('/approve', { headers })).status).toBe(401);
    expect((await signIn(kernel, { token })).status).toBe(401);
    expect(await users(kernel).tokens()).toEqual([]);
  });

  it('W2 a session ends when its page signs out, and when it is revoked', async () => {
    const clock = fakeClock(Date.now());
    const kernel = await served({ clock });
    const open = async () => {
      await clock.advance(1);
      return pageOf(await signIn(kernel, { code: await newCode(kernel) }));
    };
    const status = async (headers: Awaited<ReturnType<typeof open>>) => (await kernel.request('/user', { headers })).status;
    const [first, second, third] = [await open(), await open(), await open()];
    const out = await kernel.request('/sign-out', { method: 'POST', headers: first });
    expect(out).toMatchObject({ status: 204, headers: { 'set-cookie': expect.stringContaining('Max-Age=0') } });
    const sessions = await users(kernel).tokens();
    expect(sessions).toMatchObject([{ kind: 'session' }, { kind: 'session' }]);
    expect((await kernel.pith.command(`tokens revoke ${sessions[0]?.id}`)).code).toBe(0);
    expect([await status(first), await status(second), await status(third)]).toEqual([401, 401, 200]);
    const asToken = await kernel.request('/sign-out', { method: 'POST', token: await kernel.token() });
    expect(asToken).toMatchObject({ status: 400, json: { error: { code: 'session_unknown' } } });
  });

  it('W5 an answer that is still being sent ends once its token is revoked or has expired; those of others go on', async () => {
    const clock = fakeClock(Date.now());
    const body = `async routes() { return [{ method: 'GET', path: '/stream', need: 'user', summary: 'Stream' }]; }
      async answer({ signal }) {
        const parts = async function* () { yield Buffer.from('begun'); await new Promise((end) => signal.addEventListener('abort', end)); };
        return { status: 200, body: parts() };
      }`;
    const kernel = await servedKernel({ clock, files: routesOf('streams', body) });
    const revoked = await kernel.token();
    const [{ id }] = (await users(kernel).tokens()) as never as readonly [{ readonly id: string }];
    const [expiring, other] = [await kernel.token({ expires: '1m' }), await kernel.token()];
    const streams = await Promise.all([revoked, expiring, other].map((token) => kernel.open('/stream', { token })));
    const ended = [false, false, false];
    for (const [at, { parts }] of streams.entries()) {
      expect((await parts.next()).value).toBe('begun');
      void parts.next().then(
        () => (ended[at] = true),
        () => (ended[at] = true),
      );
    }
    await users(kernel).revoke(id);
    await passing(clock, () => ended[0] === true, 1000);
    expect(ended).toEqual([true, false, false]);
    await clock.advance(60_000);
    await passing(clock, () => ended[1] === true, 1000);
    expect(ended).toEqual([true, true, false]);
  });

  it('W2 a session goes on over a restart, for thirty days', async () => {
    const kernel = await served();
    const headers = pageOf(await signIn(kernel, { code: await newCode(kernel) }));
    await kernel.restart();
    expect((await kernel.request('/user', { headers })).status).toBe(200);
    const { expires } = (await users(kernel).tokens())[0] ?? {};
    await kernel.pith.kernel.stop();
    const clock = fakeClock(Number(expires) - 1000);
    const later = await served({ sandbox: kernel.pith.sandbox, clock });
    expect((await later.request('/user', { headers })).status).toBe(200);
    await clock.advance(1000);
    expect((await later.request('/user', { headers })).status).toBe(401);
  });

  it('W2 the cookie is Secure behind TLS, as a trusted proxy says and nobody else', async () => {
    const headers = { 'x-forwarded-proto': 'https' };
    const cookieOf = async (kernel: ServedKernel) => (await signIn(kernel, { code: await newCode(kernel) }, headers)).headers['set-cookie'];
    expect(await cookieOf(await served())).not.toContain('Secure');
    expect(await cookieOf(await served({ settings: { trusted_proxies: ['127.0.0.1'] } }))).toMatch(/; Secure$/u);
  });

  it('W5 failed sign-ins and wrong tokens of one address are limited, on loopback too, and lock out nobody who is known', async () => {
    const clock = fakeClock(Date.now());
    const kernel = await served({ clock });
    const known = await kernel.token();
    const late = await kernel.token({ userId: 'ada' });
    expect((await kernel.request('/user', { token: known })).status).toBe(200);
    const code = await newCode(kernel);
    const statuses: number[] = [];
    for (let each = 0; each < 6; each += 1) {
      statuses.push((await signIn(kernel, { code: `guess-${each}` })).status);
      statuses.push((await kernel.request('/user', { token: `pith_guess-${each}` })).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 429, 429]);
    const refused = await signIn(kernel, { code });
    expect([refused.status, Number(refused.headers['retry-after'])]).toEqual([429, 6]);
    expect((await kernel.request('/user', { token: late })).status).toBe(429);
    expect((await kernel.request('/user', { token: known })).status).toBe(200);
    expect((await kernel.request('/user', { token: late, from: '127.0.0.2' })).status).toBe(200);
    await clock.advance(6000);
    expect((await signIn(kernel, { code })).status).toBe(200);
  });

  it('W4 no web page of another origin can use up the limit of sign-ins', async () => {
    const kernel = await served();
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    for (let each = 0; each < 20; each += 1) expect((await signIn(kernel, { code: 'guess' }, foreign)).status).toBe(403);
    expect((await signIn(kernel, { code: await newCode(kernel) })).status).toBe(200);
  });

  it('W1 a sign-in address is given by any process of the sandbox while one listens, and by none else', async () => {
    const kernel = await served();
    await kernel.port();
    const other = await kernelOf({ sandbox: kernel.pith.sandbox, only: ['http'] });
    const address = await users({ pith: other }).signInAddress();
    expect(new URL(address).port).toBe(String(await kernel.port()));
    expect((await signIn(kernel, { code: codeIn(address) })).status).toBe(200);
    await kernel.pith.kernel.stop();
    await expect(users({ pith: other }).signInAddress()).rejects.toMatchObject({ code: 'not_listening', cure: 'start it: pith serve' });
  });

  it('W1 of two servers of a sandbox, the one that is left is found', async () => {
    const first = await served();
    const at = await first.port();
    const second = await kernelOf({ sandbox: first.pith.sandbox, only: ['http'], serve: { port: 0 } });
    let line = '';
    second.kernel.events.handle('service.ready', ({ text }) => void (line = text));
    await second.kernel.start();
    await until(() => line !== '');
    await second.kernel.stop();
    const other = await kernelOf({ sandbox: first.pith.sandbox, only: ['http'] });
    expect(new URL(await users({ pith: other }).signInAddress()).port).toBe(String(at));
  });

  it('W1 where an extension has a page, the line of pith serve opens it signed in; no extension hears that line', async () => {
    const page = routes('page', ['GET /'], {
      answer: "return { status: 200, headers: { 'content-type': 'text/html' }, body: '<!doctype html>' };",
    });
    const kernel = await served({ files: page });
    await kernel.port();
    const [, address = ''] = /^Listening on http:\/\/127\.0\.0\.1:\d+; open (\S+)$/u.exec(kernel.ready()) ?? [];
    expect((await signIn(kernel, { code: codeIn(address) })).status).toBe(200);
    expect(await kernel.log()).not.toContain(codeIn(address));
    const listener = await served({
      files: routes('ear', ['GET /'], { answer: "context.events.handle('service.ready', () => undefined); return { status: 204 };" }),
    });
    expect((await listener.request('/')).status).toBe(403);
    await until(() => listener.ready() !== '');
  });
});
