import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Route, RouteProvider } from 'pith/http';
import { describe, expect, it } from 'vitest';
import { ownRoutes } from '../../../sandbox/extensions/http/own-routes.ts';
import { type Asked, type ServedKernel, servedKernel } from './served-kernel.ts';

const MANY = { requests_per_user: 1_000_000, requests_per_address: 1_000_000, connections_per_address: 256 };
const nameOf = ({ method, path }: Pick<Route, 'method' | 'path'>): string => `${method} ${path}`;

/** The routes of the listener and of all that ships. */
async function everyRoute({ pith }: ServedKernel): Promise<readonly Route[]> {
  const own = ownRoutes({ failures: {}, tokens: {}, clock: {}, cookieName: '', instance: '' } as never).map(({ route }) => route);
  const providers = await pith.kernel.host.providers.active(RouteProvider);
  return [...own, ...(await Promise.all(providers.map((provider) => provider.routes()))).flat()];
}

/** What a route answers that another one with the same method has for what it is about: a name that nobody may have then. */
function shadowedNames(routes: readonly Route[]): readonly string[] {
  const segmentsOf = ({ path }: Route) => path.split('/');
  const isName = (segment: string | undefined) => segment?.startsWith('{') === true && !segment.endsWith('...}');
  return routes.flatMap((literal) =>
    routes.flatMap((named) => {
      const [ours, theirs] = [segmentsOf(literal), segmentsOf(named)];
      const isAlike = literal.method === named.method && ours.length === theirs.length;
      const fits = isAlike && ours.every((segment, at) => segment === theirs[at] || isName(theirs[at]));
      const hides = fits && ours.some((segment, at) => !isName(segment) && isName(theirs[at]));
      return hides ? [`${nameOf(literal)} hides names of ${nameOf(named)}`] : [];
    }),
  );
}

/** The addresses below `/api` that the page writes, each name and query in them left out. */
function addressesOfPage(): readonly string[] {
  const folder = 'sandbox/extensions/web_channel/page';
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/u.test(file));
  const texts = files.flatMap((file) => readFileSync(path.join(folder, file), 'utf8').match(/['`]\/api\/[^'`\n]*['`]/gu) ?? []);
  const named = texts.map((text) => text.slice(1, -1).replaceAll(/\$\{[^}]*(?:\}|$)/gu, '{}'));
  return [...new Set(named.map((text) => text.replace(/\?.*$/u, '').replace(/(?<!\/)\{\}$/u, '')))];
}

describe('every route of what ships', () => {
  it('W10 has each address that the page asks', async () => {
    const routes = await everyRoute(await servedKernel({ only: undefined as never, settings: MANY }));
    const fits = (address: string, route: Route): boolean => {
      const [asked, known] = [address.split('/'), route.path.split('/')];
      return asked.length === known.length && asked.every((part, at) => part === '{}' || part === known[at] || known[at]?.startsWith('{'));
    };
    const asked = addressesOfPage();
    expect(asked.length).toBeGreaterThan(40);
    expect(asked.filter((address) => !routes.some((route) => fits(address, route)))).toEqual([]);
  });

  it('W21 leaves every name to what has it: no other route answers in its place', async () => {
    const routes = await everyRoute(await servedKernel({ only: undefined as never, settings: MANY }));
    expect(shadowedNames(routes)).toEqual([]);
    const get = (path: string): Route => ({ method: 'GET', path, need: 'user', summary: '' });
    expect(shadowedNames([get('/things/count'), get('/things/{id}'), get('/things/{id}/parts')])).toEqual([
      'GET /things/count hides names of GET /things/{id}',
    ]);
  });

  it('W4 W5 W31 refuses who may not call it, and what it does not take, before its extension is asked', async () => {
    const kernel = await servedKernel({ only: undefined as never, settings: MANY });
    const routes = await everyRoute(kernel);
    expect(routes.map(nameOf)).toEqual(expect.arrayContaining(['POST /sign-in', 'POST /webhooks/{secret}']));
    const [chat, approve, admin] = [
      await kernel.token({ userId: 'ada' }),
      await kernel.token({ userId: 'ada', may: 'approve' }),
      await kernel.token({ may: 'admin' }),
    ];
    const found: string[] = [];
    const expected: string[] = [];
    const check = async (route: Route, what: string, asked: Asked, status: number, code: string): Promise<void> => {
      const path = route.path.replaceAll(/\{\w+(?:\.\.\.)?\}/gu, 'x');
      const answer = await kernel.request(path, { method: route.method, ...asked });
      const error = (answer.json as { readonly error?: { readonly code: string } } | undefined)?.error;
      expected.push(`${nameOf(route)}: ${what}: ${status} ${code}`);
      found.push(`${nameOf(route)}: ${what}: ${answer.status} ${error?.code}`);
    };
    for (const route of routes) {
      const { need, method, fromServers, body, upload = [], mostBytes = 256 * 1024 } = route;
      await check(route, 'another host', { token: admin, headers: { host: 'evil.example' } }, 421, 'host_unknown');
      if (need !== 'public') {
        await check(route, 'no token', {}, 401, 'token_needed');
        const headers = { 'x-forwarded-for': '127.0.0.1', 'x-real-ip': '127.0.0.1', 'x-pith-user': 'local' };
        await check(route, 'an address and a name', { headers }, 401, 'token_needed');
      }
      if (need === 'approve' || need === 'admin') await check(route, 'a token for chats', { token: chat }, 403, 'not_allowed');
      if (need === 'admin') await check(route, 'a token for answers', { token: approve }, 403, 'not_allowed');
      if (fromServers) continue;
      await check(route, 'another origin', { token: admin, headers: { origin: 'https://evil.example' } }, 403, 'not_allowed');
      await check(route, 'no origin', { token: admin, headers: { origin: 'null' } }, 403, 'not_allowed');
      await check(route, 'another site', { token: admin, headers: { 'sec-fetch-site': 'cross-site' } }, 403, 'not_allowed');
      if (method === 'GET') continue;
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
        if (!upload.includes(type.split(';')[0] ?? ''))
          await check(
            route,
            type,
            { token: admin, body: '{}', headers: { 'content-type': type, 'content-length': 2 } },
            415,
            'type_unknown',
          );
      const type = body === undefined ? upload[0] : 'application/json';
      if (type === undefined) continue;
      const tooLong = { 'content-type': type, 'content-length': String(mostBytes + 1) };
      await check(route, 'too long', { token: admin, body: '{}', headers: tooLong }, 413, 'body_too_large');
    }
    expect(found).toEqual(expected);
    expect(await kernel.log()).not.toContain('a request was not answered');
  });

  it('W4 what needs no token is little, and known', async () => {
    const kernel = await servedKernel({ only: undefined as never });
    const open = (await everyRoute(kernel)).filter(({ need }) => need === 'public').map(nameOf);
    const views = ['chat', 'saved', 'skills', 'system', 'work'];
    const page = ['GET /', 'GET /page/{file}', ...views.flatMap((view) => [`GET /${view}`, `GET /${view}/{rest...}`])];
    expect(open.sort()).toEqual([...page, 'GET /health', 'POST /sign-in', 'POST /webhooks/{secret}'].sort());
  });

  it('W1 each route says in a summary what it does, and no two are the same', async () => {
    const routes = await everyRoute(await servedKernel({ only: undefined as never }));
    expect(routes.filter(({ summary }) => !/^[A-Z][^\n]{5,}[^.]$/u.test(summary)).map(nameOf)).toEqual([]);
    expect(new Set(routes.map(nameOf)).size).toBe(routes.length);
  });
});
