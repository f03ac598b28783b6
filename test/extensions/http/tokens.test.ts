import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { sha256 } from '@pith/plain-data';
import { codeOf, messageOf, type JsonValue } from 'pith';
import { fakeClock } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../../core/store/index.ts';
import { kernelOf, writeFiles } from '../../places.ts';
import { WHO } from './routes-of.ts';
import { servedKernel } from './served-kernel.ts';

interface Listed {
  readonly id: string;
  readonly kind: string;
  readonly user: string;
  readonly last_used: number | null;
}

const served = (options: Parameters<typeof servedKernel>[0] = {}) => servedKernel({ files: WHO, ...options });

/** Files below a folder whose bytes contain a text. */
function filesWith(folder: string, text: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(folder, name))
    .filter((file) => statSync(file).isFile() && readFileSync(file).includes(text));
}

describe('tokens', () => {
  it('W2 a token is printed once, and only its SHA-256 is kept', async () => {
    const { pith, request, token } = await served();
    const made = await token({ userId: 'ada' });
    expect(made).toMatch(/^pith_[\w-]{43}$/u);
    expect((await request('/user', { token: made })).json).toEqual({ caller: { userId: 'ada', role: 'user', may: 'chat' } });
    const list = await pith.command('tokens list', { json: true });
    expect(list.values.at(-1)).toMatchObject([{ kind: 'token', user: 'ada', role: 'user', may: 'chat', expires: null }]);
    await pith.kernel.stop();
    expect(filesWith(pith.sandbox, made)).toEqual([]);
    expect(filesWith(pith.sandbox, sha256(made))).not.toEqual([]);
  });

  it('W2 a request without a token, or with a wrong one, is answered 401, and a public route says nobody', async () => {
    const { request, token } = await served();
    const made = await token();
    const wrong = [undefined, 'Bearer', `Bearer ${made}x`, `Bearer ${made.slice(0, -1)}`, `Basic ${made}`, made, `Bearer ${sha256(made)}`];
    for (const authorization of wrong) {
      const headers = authorization === undefined ? {} : { authorization };
      expect([authorization, await request('/user', { headers })]).toMatchObject([
        authorization,
        {
          status: 401,
          headers: { 'www-authenticate': 'Bearer' },
          json: { error: { code: 'token_needed', cure: { command: 'pith tokens new' } } },
        },
      ]);
      expect((await request('/public', { headers })).json).toEqual({ caller: null });
    }
    expect((await request(`/user?token=${made}&access_token=${made}`)).status).toBe(401);
    expect((await request('/user', { headers: { authorization: `bearer  ${made}` } })).status).toBe(200);
  });

  it('W2 what another process makes or revokes counts at the next request', async () => {
    const { pith, request } = await served();
    const other = await kernelOf({ sandbox: pith.sandbox, only: ['http'] });
    const { values } = await other.command('tokens new --user ada', { json: true });
    const { token, id } = values.at(-1) as { readonly token: string; readonly id: string };
    expect((await request('/user', { token })).status).toBe(200);
    expect((await other.command(`tokens revoke ${id}`)).text).toContain(id);
    expect((await request('/user', { token })).status).toBe(401);
    await expect(other.command(`tokens revoke ${id}`)).rejects.toMatchObject({ code: 'token_unknown' });
  });

  it('W2 a token is valid until it expires', async () => {
    const clock = fakeClock(Date.now());
    const { pith, request, token } = await served({ clock });
    const made = await token({ expires: '2m' });
    expect((await request('/user', { token: made })).status).toBe(200);
    await clock.advance(120_000);
    expect((await request('/user', { token: made })).status).toBe(401);
    expect((await pith.command('tokens list', { json: true })).values.at(-1)).toEqual([]);
  });

  it('W2 W6 a token may do what it was made for: chat, also answer questions, or also administer', async () => {
    const { request, token } = await served();
    const statuses = async (made: string) =>
      Promise.all(['/user', '/approve', '/admin'].map(async (at) => (await request(at, { token: made })).status));
    expect(await statuses(await token())).toEqual([200, 403, 403]);
    expect(await statuses(await token({ userId: 'ada', may: 'approve' }))).toEqual([200, 200, 403]);
    expect(await statuses(await token({ may: 'admin' }))).toEqual([200, 200, 200]);
    expect(await statuses(await token({ userId: 'ada', role: 'admin', may: 'admin' }))).toEqual([200, 200, 200]);
    expect((await request('/approve', { token: await token() })).json).toMatchObject({
      error: { code: 'not_allowed', cure: { command: 'pith tokens new --may approve' } },
    });
  });

  it('W2 W5 says who it is by the stored token alone, never by what the client says', async () => {
    const { request, token } = await served({ env: { PITH_USER: 'grace' } });
    const made = await token({ userId: 'ada' });
    const headers = { 'x-pith-user': 'local', 'x-forwarded-user': 'local', 'x-role': 'admin' };
    expect((await request('/user?user=local&role=admin&may=admin', { token: made, headers })).json).toEqual({
      caller: { userId: 'ada', role: 'user', may: 'chat' },
    });
    expect((await request('/user', { token: await token() })).json).toEqual({ caller: { userId: 'local', role: 'admin', may: 'chat' } });
  });

  it('W2 a token works on while the time of its use cannot be kept, as on a full disk', async () => {
    const kernel = await served();
    const made = await kernel.token({ userId: 'ada' });
    const database = openDatabase(path.join(kernel.pith.sandbox, 'data/pith.db'));
    database.exec("CREATE TRIGGER full BEFORE UPDATE ON http__tokens BEGIN SELECT RAISE(FAIL, 'full'); END");
    database.close();
    expect((await kernel.request('/user', { token: made })).status).toBe(200);
    const list = await kernel.pith.command('tokens list', { json: true });
    expect(list.values.at(-1)).toMatchObject([{ user: 'ada', last_used: null }]);
  });

  it('W5 a token of a user is refused once that person is an administrator: commands would let it do what an administrator does', async () => {
    const kernel = await served({ files: { ...WHO, 'pith.yaml': 'admins: [grace]\n' } });
    const { request, token, pith } = kernel;
    const made = await token({ userId: 'ada', may: 'approve' });
    const other = await token({ userId: 'joan' });
    const opened = await request('/sign-in', { method: 'POST', json: { token: made } });
    const session = {
      cookie: String(opened.headers['set-cookie']).split(';')[0] ?? '',
      'x-pith-page': (opened.json as { readonly page: string }).page,
    };
    expect((await request('/user', { headers: session })).status).toBe(200);
    writeFiles(pith.sandbox, { 'pith.yaml': 'admins: [grace, ada]\n' });
    await kernel.restart();
    const refused = {
      status: 401,
      json: { error: { code: 'token_outdated', cure: { text: 'make a new one', command: 'pith tokens new' } } },
    };
    for (const asked of [{ token: made }, { headers: session }]) {
      expect(await request('/user', asked)).toMatchObject(refused);
      expect((await request('/public', asked)).json).toEqual({ caller: null });
    }
    expect((await request('/sign-in', { method: 'POST', json: { token: made } })).status).toBe(401);
    expect((await request('/user', { token: other })).status).toBe(200);
    const renewed = await token({ userId: 'ada' });
    expect((await request('/user', { token: renewed })).json).toMatchObject({ caller: { userId: 'ada', role: 'admin', may: 'chat' } });
  });

  it('W2 what would say more or less than it can do, and odd names of users, are refused', async () => {
    const { pith } = await served({ files: { ...WHO, 'pith.yaml': 'admins: [ada]\n' } });
    const code = async (...words: readonly string[]) =>
      pith.command(['tokens', 'new', ...words], { json: true }).then(
        ({ values }) => (values.at(-1) as { readonly role: string }).role,
        (error: unknown) => [codeOf(error, ''), messageOf(error)],
      );
    expect(await code('--user', 'grace', '--may', 'admin')).toMatchObject(['token_invalid', expect.stringContaining('administrator')]);
    expect(await code('--role', 'user')).toMatchObject(['token_invalid', expect.stringContaining('local')]);
    expect(await code('--user', 'ada', '--role', 'user')).toMatchObject(['token_invalid', expect.stringContaining('ada')]);
    expect(await code('--user', 'ada', '--may', 'admin')).toBe('admin');
    expect(await code('--user', 'grace')).toBe('user');
    for (const words of [
      ['--may', 'all'],
      ['--role', 'root'],
      ['--expires', 'soon'],
    ])
      expect(await code(...words)).toMatchObject(['usage', expect.any(String)]);
    expect(await code('--expires', '0d')).toMatchObject(['token_invalid', expect.any(String)]);
    for (const name of ['', ' ada', 'ada/skill', 'a\nb', 'a\u0000b', 'a\u202eb', 'a\u200bb', 'x'.repeat(65), '<b>', 'e\u0301'])
      expect([name, await code('--user', name)]).toMatchObject([name, ['token_invalid', expect.any(String)]]);
    for (const name of ['Ada Lovelace', 'ada@example.org', 'Zoë', '李', 'a.b-c_d+e'])
      expect([name, await code('--user', name)]).toEqual([name, 'user']);
  });

  it('W2 keeps when a token was last used, to the minute', async () => {
    const clock = fakeClock(Date.now());
    const { pith, request, token } = await served({ clock });
    const made = await token();
    const used = async () =>
      ((await pith.command('tokens list', { json: true })).values.at(-1) as never as readonly Listed[])[0]?.last_used;
    expect(await used()).toBe(null);
    const first = clock.now();
    await Promise.all(Array.from({ length: 5 }, () => request('/user', { token: made })));
    await clock.advance(59_000);
    await request('/user', { token: made });
    expect(await used()).toBe(first);
    await clock.advance(1000);
    await request('/user', { token: made });
    expect(await used()).toBe(first + 60_000);
  });

  it('W2 W31 no log, event or answer has a token', async () => {
    const { pith, request, token } = await served();
    const events: unknown[] = [];
    const topics = ['service.ready', 'extension.failed', 'problem.found', 'provider.changed', 'extension.activated'] as const;
    for (const topic of topics) pith.kernel.events.handle(topic, (payload) => void events.push(payload));
    const made = await token();
    const answers: JsonValue[] = [];
    for (const at of ['/user', '/admin', '/nothing', `/${made}`, '//x', `/user?token=${made}`])
      for (const method of ['GET', 'POST', 'PUT']) answers.push({ ...(await request(at, { method, token: made })), json: null });
    answers.push({ ...(await request('/user', { headers: { cookie: made, host: made, authorization: `Bearer ${made}x` } })), json: null });
    await pith.kernel.stop();
    expect(filesWith(pith.sandbox, made.slice(5))).toEqual([]);
    expect(JSON.stringify([events, answers])).not.toContain(made.slice(5));
  });

  it('W2 a list without tokens says how to make one; a conversation has no such command', async () => {
    const { pith } = await served();
    expect((await pith.command('tokens list')).text).toContain('pith tokens new');
    await pith.command('tokens new --user ada');
    expect((await pith.command('tokens list')).text).toMatch(
      /^ID +KIND +USER +ROLE +MAY +EXPIRES +LAST USED\n\w{26} +token +ada +user +chat +never +never$/mu,
    );
    const commands = await pith.kernel.host.providers.commands.of('http');
    expect(commands.map(({ path, slash }) => [path, slash])).toEqual([
      ['tokens new', false],
      ['tokens list', false],
      ['tokens revoke', false],
    ]);
  });
});
