import { ChannelProvider } from 'pith';
import { RouteProvider } from 'pith/http';
import { expect, it } from 'vitest';
import { COMMAND_ROUTES } from '../../../sandbox/extensions/rest_api/commands/table.ts';
import { apiKernel } from './api-kernel.ts';

/** A body that each route takes. */
const BODIES: Readonly<Record<string, object>> = {
  'POST /api/threads/{id}/messages': { text: 'hi' },
  'PATCH /api/threads/{id}': { title: 'Mine' },
  'POST /api/approvals/{id}': { answer: 'once' },
};

it('W5 each route with an id answers somebody else, also an administrator who does not ask for it, exactly as for an unknown one', async () => {
  const api = await apiKernel([{ calls: [{ name: 'risk', input: {} }] }]);
  const ann = await api.token({ userId: 'ann' });
  const others = [await api.token({ userId: 'bob', may: 'approve' }), await api.token({ userId: 'eve', role: 'admin', may: 'admin' })];
  const thread = await api.thread(ann);
  await api.request(`/api/threads/${thread}/messages`, { method: 'POST', token: ann, json: { text: 'go' } });
  const { approvals } = (await api.request('/api/approvals', { token: ann })).json as { approvals: { id: string }[] };
  const empty = await api.thread(ann);
  const notice = await api.pith.kernel.host.providers
    .remote('rest_api', ChannelProvider)
    ?.deliver({ kind: 'bell', text: 'For Ann', userId: 'ann' }, 'web');
  const theirs = { threads: [thread, empty], approvals: [approvals[0]?.id ?? ''], notices: [notice ?? ''] };
  const provider = api.pith.kernel.host.providers.remote('rest_api', RouteProvider);
  // What commands answer is tested beside them.
  const commands = new Set(COMMAND_ROUTES.map(({ method, path }) => `${method} ${path}`));
  const routes = (await provider?.routes())?.filter(({ method, path }) => path.includes('{') && !commands.has(`${method} ${path}`)) ?? [];
  expect(routes.length).toBeGreaterThan(10);
  for (const { method, path } of routes) {
    const ids = theirs[path.split('/')[2] as keyof typeof theirs];
    expect(ids, path).toBeDefined();
    const body = method === 'GET' || method === 'DELETE' ? {} : { json: BODIES[`${method} ${path}`] ?? {} };
    for (const token of others)
      for (const id of ids) {
        const ask = async (named: string) => {
          const { status, text, headers } = await api.request(path.replace('{id}', named), { method, token, ...body } as object);
          const { date: _date, ...rest } = headers;
          return { status, text: text.replaceAll(named, 'ID'), headers: { ...rest, 'content-length': '' } };
        };
        const unknown = id.replace(/.$/u, (last) => (last === '0' ? '1' : '0'));
        const [other, nobody] = [await ask(id), await ask(unknown)];
        expect([other.status, `${method} ${path}`]).toEqual([404, `${method} ${path}`]);
        expect(other).toEqual(nobody);
      }
  }
  for (const token of others) {
    expect((await api.request('/api/threads', { token })).json).toEqual({ threads: [], cursor: null });
    expect((await api.request('/api/approvals', { token })).json).toEqual({ approvals: [], cursor: null });
  }
  expect((await api.request(`/api/threads/${thread}?all=true`, { token: others[1] })).status).toBe(200);
  expect((await api.request('/api/threads?all=true', { token: others[1] })).json).toMatchObject({
    threads: [{ id: thread, userId: 'ann' }],
  });
  expect((await api.request('/api/threads?all=true', { token: others[0] })).status).toBe(403);
  expect((await api.request(`/api/threads/${thread}?all=true`, { token: others[0] })).status).toBe(404);
  expect((await api.request(`/api/threads/${thread}`, { token: ann })).json).toMatchObject({
    thread: { state: 'awaiting_approval', title: 'go' },
  });
});
