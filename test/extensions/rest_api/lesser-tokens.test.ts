import { expect, it } from 'vitest';
import type { JsonValue } from 'pith';
import { COMMAND_ROUTES } from '../../../sandbox/extensions/rest_api/commands/table.ts';
import { until } from '../../waiting.ts';
import { apiKernel, type ServerEvent, upTo } from './api-kernel.ts';

const ONLY = ['http', 'rest_api', 'skill_registry', 'saved_skills', 'skill_webhooks', 'task_engine', 'scheduler'];
const AGENT = 'id: planner\nagent: { uses_tools: [scheduler] }\n';
const TEXT = 'description: Greets.\nsystem_prompt: Greet.\n';

type Rows = readonly { readonly id?: string; readonly schedule_id?: string; readonly state: string }[];

const idOf = (row: Rows[number] | undefined): string => row?.id ?? row?.schedule_id ?? '';

/** What each route needs to be asked at all. */
const BODIES: Readonly<Record<string, { readonly [key: string]: JsonValue }>> = {
  'PATCH /api/saved/{skill}': { text: 'system_prompt: Mine now.\n' },
  'PUT /api/saved/{skill}/schedule': { cron: '@daily' },
  'PUT /api/saved/{skill}/visibility': { visibility: 'public' },
  'PUT /api/saved/{skill}/priority': { priority: '1' },
  'PUT /api/saved/{skill}/retired': { clear: true },
  'POST /api/tasks/{id}/review': { answer: ['yes'] },
};

it('W2 W5 an administrator with a token for chats or answers sees and changes nothing of another user, on all routes of commands', async () => {
  const wake = { name: 'schedule_once', input: { in: '1h', message: 'wake' } };
  const api = await apiKernel([{ calls: [wake] }, { text: 'set' }, { text: 'done' }, { text: 'done' }], {
    only: ONLY,
    files: { 'agents/planner/manifest.yaml': AGENT, 'pith.yaml': 'default_agent: planner\n' },
  });
  const ann = await api.token({ userId: 'ann', may: 'approve' });
  const root = await api.token({ may: 'admin' });
  const send = async (path: string, json: JsonValue) => (await api.request(path, { method: 'POST', token: ann, json })).json;
  const rowsOf = async (path: string) => (await api.request(path, { token: ann })).json as unknown as Rows;
  await send(`/api/threads/${await api.thread(ann)}/messages`, { text: 'wake me' });
  await send('/api/saved', { name: 'greet', text: TEXT });
  await send('/api/saved/ann%2Fgreet/webhook', {});
  await send('/api/saved/ann%2Fgreet/runs', {});
  await send('/api/tasks', { goal: ['mine'] });
  await until(async () => {
    const states = await Promise.all(['/api/runs', '/api/tasks'].map(async (path) => (await rowsOf(path))[0]?.state));
    return JSON.stringify(states) === '["ok","done"]';
  });
  const own = ['/api/schedules', '/api/runs', '/api/tasks', '/api/jobs'];
  const ids = new Map(await Promise.all(own.map(async (path) => [path, idOf((await rowsOf(path))[0])] as const)));
  ids.set('/api/saved', 'ann/greet');
  expect([...ids].filter(([, id]) => id === '')).toEqual([]);
  const state = async () =>
    Promise.all([...own, '/api/saved/ann%2Fgreet'].map(async (path) => (await api.request(path, { token: root })).text));
  for (const [path, id] of ids) expect((await api.request(path, { token: root })).text).toContain(id.replace('ann/', ''));

  const routes = COMMAND_ROUTES.filter(
    ({ path, need }) => need !== 'admin' && own.concat('/api/saved').some((each) => path.startsWith(each)),
  );
  expect(routes.length).toBeGreaterThan(30);
  const before = await state();
  for (const may of ['chat', 'approve'] as const) {
    const token = await api.token({ may });
    for (const { method, path, need } of routes) {
      const route = `${may}: ${method} ${path}`;
      const id = ids.get(path.split('/').slice(0, 3).join('/')) ?? '';
      const ask = async (named: string) => {
        const at = path.replace(/\{\w+\}/u, encodeURIComponent(named));
        const body = method === 'GET' ? {} : { method, json: BODIES[`${method} ${path}`] ?? {} };
        const { status, text } = await api.request(at, { token, ...body });
        return { status, text: text.replaceAll(named, 'IT') };
      };
      const answer = await ask(id);
      const unknown = id.replace(/.$/u, (last) => (last === '0' ? '1' : '0'));
      const nobodys = path.includes('{') ? await ask(unknown) : answer;
      const status = need === 'approve' && may === 'chat' ? 403 : path.includes('{') ? 404 : answer.status;
      expect({ route, ...answer }).toEqual({ route, ...nobodys, status });
      expect([route, [...ids.values()].filter((each) => answer.text.includes(each))]).toEqual([route, []]);
    }
  }
  expect(await state()).toEqual(before);
});

it('W5 the stream tells such a token nothing of the work of another user, neither as it happens nor afterwards', async () => {
  const wake = { name: 'schedule_once', input: { in: '1h', message: 'wake' } };
  const api = await apiKernel([{ calls: [wake] }, { text: 'set' }, { text: 'mine' }], {
    only: ONLY,
    files: { 'agents/planner/manifest.yaml': AGENT, 'pith.yaml': 'default_agent: planner\n' },
  });
  const [ann, root, lesser] = [await api.token({ userId: 'ann' }), await api.token({ may: 'admin' }), await api.token({ may: 'chat' })];
  const open = (token: string, last?: string) =>
    api.events('/api/events', { token, headers: last === undefined ? {} : { 'last-event-id': last } });
  const streams = [await open(root), await open(lesser)] as const;
  const [, ready] = await Promise.all(streams.map(async (each) => each.next()));
  const say = async (token: string, id: string) =>
    api.request(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text: 'wake me' } });
  await say(ann, await api.thread(ann));
  const isSchedule = ({ data }: ServerEvent) => data['kind'] === 'schedule';
  await upTo(streams[0], isSchedule);
  const mine = await api.thread(lesser);
  await say(lesser, mine);
  const isMine = ({ data }: ServerEvent) => data['id'] === mine;
  for (const stream of [streams[1], await open(lesser, ready?.id)])
    expect((await upTo(stream, isMine)).filter(({ data }) => ['schedule', 'job'].includes(String(data['kind'])))).toEqual([]);
});
