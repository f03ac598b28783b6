import { RouteProvider } from 'pith/http';
import { expect, it } from 'vitest';
import { COMMAND_ROUTES } from '../../../sandbox/extensions/rest_api/commands/table.ts';
import { apiKernel } from './api-kernel.ts';

const SKILL = '---\nname: letters\ndescription: Write a letter. Use when somebody wants a letter.\n---\n\nWrite it.\n';
const BAD = '---\nname: other\ndescription: A name that is not that of its folder.\n---\n';

/** Ids of what is there, by the name in the path of a route. */
const IDS: Readonly<Record<string, readonly string[]>> = {
  '/api/agents/{id}': ['helper'],
  '/api/agents/{id}/prompt': ['helper'],
  '/api/extensions/{id}': ['risky', 'rest_api', 'broken'],
};

it('W3 W31 no GET route answers with a path of the machine, whatever is asked for', async () => {
  const api = await apiKernel([{ text: 'Hello' }], {
    only: undefined as never,
    files: {
      'skills/letters/SKILL.md': SKILL,
      'skills/wrong/SKILL.md': BAD,
      'extensions/broken/manifest.yaml': '{id: broken, entrypoint: main.ts, provides: [tool]}',
      'extensions/broken/main.ts': 'export default class { constructor() { throw new Error(import.meta.url); } }',
    },
  });
  await api.port();
  const { sandbox } = api.pith;
  const token = await api.token({ role: 'admin', may: 'admin' });
  const thread = await api.thread(token);
  await api.request(`/api/threads/${thread}/messages`, { method: 'POST', token, json: { text: 'hi' } });
  const provider = api.pith.kernel.host.providers.remote('rest_api', RouteProvider);
  const routes = ((await provider?.routes()) ?? []).filter(({ method, path }) => method === 'GET' && path !== '/api/events');
  const asked = routes.flatMap(({ path }) => {
    if (!path.includes('{')) return [path];
    const ids =
      IDS[path] ?? (path.startsWith('/api/threads/') ? [thread] : path.startsWith('/api/skills/') ? ['letters', 'wrong'] : ['nothing']);
    return ids.map((id) => path.replace(/\{\w+\}/u, id));
  });
  expect(asked.length).toBeGreaterThan(COMMAND_ROUTES.filter(({ method }) => method === 'GET').length);
  const found: string[] = [];
  let answered = 0;
  for (const path of [...asked, '/api/skills?all=true', '/api/skills/search?query=letter', '/api/tools?agent=helper']) {
    const { status, text } = await api.request(path, { token });
    if (status < 300) answered += 1;
    const home = process.env['HOME'] ?? sandbox;
    for (const folder of [sandbox, process.cwd(), home])
      if (text.includes(folder)) found.push(`${path}: ${text.slice(text.indexOf(folder) - 60, text.indexOf(folder) + 120)}`);
  }
  expect(found).toEqual([]);
  expect(answered).toBeGreaterThan(25);
});

it('W13 W21 what people wrote comes back as it is where a form sends it back, paths too', async () => {
  const api = await apiKernel([], { only: ['http', 'rest_api', 'saved_skills', 'task_engine', 'scheduler'] });
  const token = await api.token({ userId: 'local', role: 'admin', may: 'admin' });
  const system_prompt = `Read ${api.pith.sandbox}/notes.md first.`;
  const text = JSON.stringify({ description: 'Notes', system_prompt });
  const made = await api.request('/api/saved', { method: 'POST', token, json: { name: 'notes', text } });
  expect(made.status).toBe(200);
  const reference = encodeURIComponent('local/notes');
  expect((await api.request(`/api/saved/${reference}`, { token })).json).toMatchObject({ system_prompt });
  await api.request(`/api/saved/${reference}`, { method: 'PATCH', token, json: { text: JSON.stringify({ tags: ['a'] }) } });
  expect((await api.request(`/api/saved/${reference}`, { token })).json).toMatchObject({ system_prompt, tags: ['a'] });
});
