import { rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from 'pith';
import { openDatabase } from '../../../core/store/index.ts';
import { COMMAND_ROUTES } from '../../../sandbox/extensions/rest_api/commands/table.ts';
import { until } from '../../waiting.ts';
import { apiKernel, type ApiKernel } from './api-kernel.ts';

const ONLY = ['http', 'rest_api', 'skill_registry', 'skill_proposals', 'skill_install', 'saved_skills', 'task_engine', 'scheduler'];
const skill = (name: string, more = '') => `---\nname: ${name}\ndescription: Writes ${name}. Use when asked.\n${more}---\n\nWrite.\n`;
const FILES = {
  'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [scheduler] }\n',
  'pith.yaml': 'default_agent: helper\nskills: { disabled: [poems], poll_seconds: 0 }\n',
  'skills/letters/SKILL.md': skill('letters', 'tags: [post, text]\n'),
  'skills/poems/SKILL.md': skill('poems', 'tags: [text]\n'),
  'skills/reports/SKILL.md': skill('reports', 'tags: [work]\n'),
  'data/extensions/skill_registry/proposals/a.md': 'not a proposal',
  'data/extensions/skill_registry/proposals/b.md': 'nor this',
  'data/extensions/skill_registry/proposals/c.md': 'nor that',
};

type Row = Readonly<Record<string, JsonValue>>;

/** `turns`: how often an agent works. */
async function withLists(turns = 0): Promise<ApiKernel & { readonly root: string; get(path: string): Promise<JsonValue> }> {
  const api = await apiKernel(
    Array.from({ length: turns }, () => ({ text: 'done' })),
    { only: ONLY, files: FILES },
  );
  const root = await api.token({ role: 'admin', may: 'admin' });
  return { ...api, root, get: async (path) => (await api.request(path, { token: root })).json as JsonValue };
}

describe('lists over HTTP', () => {
  it('W21 W32 each that may be long comes in pages, and all pages are the whole list', async () => {
    const api = await withLists(6);
    const post = async (path: string, json: JsonValue = {}) => {
      const answer = await api.request(path, { method: 'POST', token: api.root, json });
      expect([path, answer.status, answer.json]).toEqual([path, 200, expect.anything()]);
    };
    for (const name of ['one', 'two', 'three']) {
      await post('/api/saved', { name, text: JSON.stringify({ system_prompt: 'Say it.' }) });
      await post(`/api/saved/local%2F${name}/runs`);
      await post('/api/tasks', { goal: [name] });
      const made = await api.pith.kernel.agents.callTool('helper', 'schedule_once', { message: name, in: '2h' });
      expect(made).toMatchObject({ ok: true });
    }
    await until(() => api.model.requests.length === 6);
    const lists = COMMAND_ROUTES.flatMap(({ path, list }) => (list === undefined ? [] : [{ path, ...list }]));
    expect(lists.map(({ name }) => name).sort()).toEqual(['jobs', 'proposals', 'runs', 'saved', 'schedules', 'skills', 'tasks']);
    for (const { path, name, row } of lists) {
      const of = (rows: JsonValue | undefined) => (rows as readonly Row[]).map((each) => row.map((field) => each[field]).join('/'));
      const ask = async (query: string) => (await api.get(`${path}?${ALL.has(name) ? 'all=true&' : ''}${query}`)) as Row;
      const seen: string[] = [];
      for (let cursor: JsonValue = ''; cursor !== null;) {
        const page: Row = await ask(`limit=2${cursor === '' ? '' : `&cursor=${encodeURIComponent(String(cursor))}`}`);
        expect([name, of(page[name]).length > 0 && of(page[name]).length <= 2]).toEqual([name, true]);
        seen.push(...of(page[name]));
        cursor = page['cursor'] as JsonValue;
      }
      const whole = of((await ask('limit=200'))[name]);
      expect([name, seen.length >= 3, new Set(seen).size]).toEqual([name, true, seen.length]);
      expect([name, seen]).toEqual([name, whole.slice(-seen.length)]); // jobs were added meanwhile, before all others
      const plain = await api.get(path);
      expect([name, Array.isArray(plain)]).toEqual([name, true]);
      const wrong = await api.request(`${path}?cursor=nothing`, { token: api.root });
      expect([name, wrong.status, wrong.json]).toMatchObject([name, 400, { error: { problems: [{ path: ['cursor'] }] } }]);
      const noNumber = await api.request(`${path}?limit=abc`, { token: api.root });
      expect([name, noNumber.json]).toMatchObject([name, { error: { message: expect.stringContaining('limit: must be a number') } }]);
      expect((await api.request(`${path}?limit=0`, { token: api.root })).status).toBe(400);
    }
  });

  it('W5 W21 a cursor is what this list gave to this user, or a bad request; what else is wrong is said as what it is', async () => {
    const api = await withLists(3);
    const [ann, bob] = [await api.token({ userId: 'ann', may: 'approve' }), await api.token({ userId: 'bob', may: 'approve' })];
    const saved = { name: 'one', text: JSON.stringify({ system_prompt: 'Say it.' }) };
    await api.request('/api/saved', { method: 'POST', token: ann, json: saved });
    for (const _ of ['once', 'twice', 'thrice'])
      expect(await api.request('/api/saved/ann%2Fone/runs', { method: 'POST', token: ann, json: {} })).toMatchObject({ status: 200 });
    await until(() => api.model.requests.length === 3);
    const { runs, cursor } = (await api.request('/api/runs?limit=1', { token: ann })).json as { runs: Row[]; cursor: string };
    const asked = (path: string, token: string, of: string) => api.request(`${path}cursor=${encodeURIComponent(of)}`, { token });
    expect((await asked('/api/runs?', ann, cursor)).json).toMatchObject({ runs: [expect.anything(), expect.anything()], cursor: null });
    const refused = { status: 400, json: { error: { code: 'cursor_invalid', problems: [{ path: ['cursor'] }] } } };
    const id = String(runs[0]?.['id']);
    for (const wrong of [id, id.replace(/.$/u, (last) => (last === '0' ? '1' : '0')), `${cursor}x`, cursor.slice(1), ''])
      expect([wrong, await asked('/api/runs?', ann, wrong)]).toMatchObject([wrong, wrong === '' ? { status: 400 } : refused]);
    expect(await asked('/api/runs?', bob, cursor)).toMatchObject(refused);
    for (const path of ['/api/jobs?', '/api/threads?', '/api/approvals?'])
      expect([path, await asked(path, ann, cursor)]).toMatchObject([path, refused]);
    expect(await asked('/api/runs?state=lost&', ann, cursor)).toMatchObject({ status: 400, text: expect.stringContaining("'lost'") });
    expect(await asked('/api/runs?skill=none&', ann, cursor)).toMatchObject({ status: 404, text: expect.stringContaining('none') });
  });

  it('W21 a cursor behind a row that has left the list is a bad request: the list begins anew', async () => {
    const api = await withLists(2);
    const send = async (method: string, path: string, json?: JsonValue) => {
      const answer = await api.request(path, { method, token: api.root, ...(json === undefined ? {} : { json }) });
      expect([path, answer.status, answer.json]).toEqual([path, 200, expect.anything()]);
    };
    for (const name of ['one', 'two']) {
      await send('POST', '/api/saved', { name, text: JSON.stringify({ system_prompt: 'Say it.' }) });
      await send('POST', '/api/tasks', { goal: [name] });
      await api.pith.kernel.agents.callTool('helper', 'schedule_once', { message: name, in: '2h' });
    }
    await until(() => api.model.requests.length === 2);
    const place = (file: string) => path.join(api.pith.sandbox, file);
    const forget = (id: string) => {
      const database = openDatabase(place('data/pith.db'));
      database.run('DELETE FROM task_engine__tasks WHERE id = ?', id);
      database.close();
    };
    const lists: Readonly<Record<string, (row: Row) => Promise<void> | void>> = {
      saved: ({ name }) => send('DELETE', `/api/saved/local%2F${name}`),
      schedules: ({ schedule_id: id }) => send('DELETE', `/api/schedules/${id}`),
      skills: ({ id }) => rmSync(place(`skills/${id}`), { recursive: true }),
      proposals: ({ id }) => rmSync(place(`data/extensions/skill_registry/proposals/${id}.md`)),
      tasks: ({ id }) => forget(String(id)),
    };
    for (const [name, remove] of Object.entries(lists)) {
      const own = name === 'skills' ? 'source=sandbox%2Fskills&' : '';
      const { [name]: rows, cursor } = (await api.get(`/api/${name}?${own}limit=1`)) as { [key: string]: readonly Row[] & string };
      await remove(rows![0]!);
      const next = await api.request(`/api/${name}?${own}limit=1&cursor=${encodeURIComponent(cursor!)}`, { token: api.root });
      expect([name, next]).toMatchObject([
        name,
        { status: 400, json: { error: { code: 'cursor_invalid', problems: [{ path: ['cursor'] }] } } },
      ]);
    }
  });

  it('W12 W21 skills are chosen by state, source, tag and text on the server, and counted by them', async () => {
    const api = await withLists();
    const ids = async (query: string) =>
      ((await api.get(`/api/skills?limit=50&${query}`)) as unknown as { skills: Row[] }).skills.map(({ id }) => id);
    const mine = 'source=sandbox/skills';
    expect(await ids(mine)).toEqual(['letters', 'reports']);
    expect(await ids(`${mine}&all=true`)).toEqual(['letters', 'poems', 'reports']);
    expect(await ids(`${mine}&state=disabled`)).toEqual(['poems']);
    expect(await ids(`${mine}&all=true&tag=text`)).toEqual(['letters', 'poems']);
    expect(await ids(`${mine}&text=WRITES%20rep`)).toEqual(['reports']);
    expect(await ids(`${mine}&prefix=let`)).toEqual(['letters']);
    expect(await ids('text=nothing')).toEqual([]);
    for (const place of ['/api/skills', '/api/all-skills/counts']) {
      const wrong = await api.request(`${place}?state=disable`, { token: api.root });
      expect([place, wrong]).toMatchObject([place, { status: 400, text: expect.stringContaining("did you mean 'disabled'?") }]);
    }
    expect(await api.get(`/api/all-skills/counts?all=true&${mine}`)).toEqual({
      total: 3,
      states: [
        { name: 'disabled', count: 1 },
        { name: 'offered', count: 2 },
      ],
      sources: [{ name: 'sandbox/skills', count: 3 }],
      tags: [
        { name: 'post', count: 1 },
        { name: 'text', count: 2 },
        { name: 'work', count: 1 },
      ],
    });
  });

  it('W12 of each skill that is not offered, whatever its state, there is the reason and the cure', async () => {
    const files = {
      ...FILES,
      'skills/broken/SKILL.md': '---\nname: broken\n---\n',
      'skills/brainstorming/SKILL.md': skill('brainstorming'), // in place of the one that ships
      '.staging/skills/drafted/SKILL.md': skill('drafted'),
    };
    const api = await apiKernel([], { only: ONLY, files });
    const token = await api.token({ role: 'admin', may: 'admin' });
    await api.pith.write('../.claude/skills/far/SKILL.md', skill('far'));
    await api.pith.command('skills untrust .claude/skills');
    const { skills } = (await api.request('/api/skills?all=true&limit=200', { token })).json as unknown as {
      readonly skills: readonly Row[];
    };
    const others = skills.filter(({ state }) => state !== 'offered');
    expect(new Set(others.map(({ state }) => state))).toEqual(new Set(['disabled', 'draft', 'invalid', 'shadowed', 'untrusted']));
    const wrong = others.filter(({ reason, cure }) => typeof reason !== 'string' || typeof cure !== 'object' || cure === null);
    expect(wrong.map(({ id, state, reason, cure }) => [id, state, reason, cure])).toEqual([]);
  });

  it('W5 W21 a page goes on behind no task or job of somebody else, and says nothing of it', async () => {
    const api = await withLists(1);
    const [ann, bob] = [await api.token({ userId: 'ann', may: 'approve' }), await api.token({ userId: 'bob', may: 'approve' })];
    const { id } = (await api.request('/api/tasks', { method: 'POST', token: ann, json: { goal: ['mine'] } })).json as {
      readonly id: string;
    };
    const [job] = ((await api.request('/api/jobs?limit=1', { token: ann })).json as unknown as { readonly jobs: readonly [Row] }).jobs;
    for (const [path, theirs] of [
      ['/api/tasks', id],
      ['/api/jobs', String(job['id'])],
    ] as const) {
      const nobodys = theirs.replace(/.$/u, (last) => (last === '0' ? '1' : '0'));
      const asked = async (cursor: string) => {
        const { status, text } = await api.request(`${path}?cursor=${cursor}`, { token: bob });
        return [status, text.replaceAll(cursor, 'ID')];
      };
      expect(await asked(theirs)).toEqual(await asked(nobodys));
      expect((await asked(theirs))[0]).toBe(400);
    }
    await until(() => api.model.requests.length === 1);
    expect((await api.request('/api/tasks?limit=5', { token: bob })).json).toEqual({ tasks: [], cursor: null });
  });
});

/** Lists that show more with `all`. */
const ALL = new Set(['skills', 'proposals']);
