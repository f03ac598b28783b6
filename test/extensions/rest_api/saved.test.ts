import { describe, expect, it } from 'vitest';
import type { JsonValue } from 'pith';
import { fakeClock } from 'pith/testing';
import { COMMAND_ROUTES } from '../../../sandbox/extensions/rest_api/commands/table.ts';
import { gate, passing, until } from '../../waiting.ts';
import { apiKernel } from './api-kernel.ts';

const ONLY = ['http', 'rest_api', 'skill_registry', 'saved_skills', 'skill_webhooks', 'task_engine', 'scheduler'];
const TEXT = JSON.stringify({ description: 'Greets.', system_prompt: 'Greet.', input_schema: [{ name: 'city' }] });

/** What each route needs to be asked at all. */
const BODIES: Readonly<Record<string, { readonly [key: string]: JsonValue }>> = {
  'PATCH /api/saved/{skill}': { text: TEXT },
  'PUT /api/saved/{skill}/schedule': { cron: '@daily' },
  'PUT /api/saved/{skill}/visibility': { visibility: 'public' },
  'PUT /api/saved/{skill}/priority': { priority: '1' },
  'PUT /api/saved/{skill}/lane': { lane: 'default' },
  'PUT /api/saved/{skill}/retired': { clear: true },
};

describe('saved skills over HTTP', () => {
  it('W5 W13 each route with a saved skill or a run answers for somebody else’s exactly as for an unknown one', async () => {
    const api = await apiKernel([{ text: 'done' }], { only: ONLY });
    const [ann, bob] = [await api.token({ userId: 'ann', may: 'approve' }), await api.token({ userId: 'bob', may: 'approve' })];
    const post = (path: string, token: string, json: JsonValue = {}) => api.request(path, { method: 'POST', token, json });
    expect((await post('/api/saved', ann, { name: 'greet', text: TEXT })).json).toMatchObject({ owner_id: 'ann', name: 'greet' });
    const { id } = (await post('/api/saved/ann%2Fgreet/runs', ann)).json as { readonly id: string };
    const routes = COMMAND_ROUTES.filter(({ path, need }) => need === 'user' && /\{(?:skill|run)\}/u.test(path));
    expect(routes.length).toBeGreaterThan(15);
    for (const { method, path } of routes) {
      const route = `${method} ${path}`;
      const body = method === 'GET' ? {} : { json: BODIES[route] ?? {} };
      const ask = async (skill: string, run: string) => {
        const at = path.replace('{skill}', encodeURIComponent(skill)).replace('{run}', run);
        const { status, text } = await api.request(at, { method, token: bob, ...body } as object);
        return { status, text: text.replaceAll(run, 'RUN').replaceAll('greex', 'greet') };
      };
      const [theirs, nobodys] = [
        await ask('ann/greet', id),
        await ask(
          'ann/greex',
          id.replace(/.$/u, (last) => (last === '0' ? '1' : '0')),
        ),
      ];
      expect([route, theirs.status]).toEqual([route, 404]);
      expect([route, theirs]).toEqual([route, nobodys]);
    }
    expect((await api.request('/api/saved', { token: bob })).json).toEqual([]);
    expect((await api.request('/api/saved/ann%2Fgreet', { token: ann })).json).toMatchObject({ run_inputs: [{ name: 'city' }] });
  });

  it('W21 the tag of a saved skill stays while its timetable goes on by itself, and goes with what a person changes', async () => {
    const clock = fakeClock();
    const api = await apiKernel([{ text: 'Good day.' }], { only: ONLY, clock });
    const token = await api.token({ userId: 'ann' });
    const path = '/api/saved/ann%2Fgreet';
    await api.request('/api/saved', { method: 'POST', token, json: { name: 'greet', text: TEXT } });
    await api.request(`${path}/schedule`, { method: 'PUT', token, json: { cron: '*/5 * * * *' } });
    const shown = await api.request(path, { token });
    const { next_run_at: first } = shown.json as { readonly next_run_at: number };
    const later = await passing(
      clock,
      async () => {
        const again = await api.request(path, { token });
        return (again.json as { readonly next_run_at: number }).next_run_at > first && again;
      },
      30_000,
    );
    const tag = shown.headers['etag'] ?? '';
    expect(later.headers['etag']).toBe(tag);
    const share = () =>
      api.request(`${path}/visibility`, { method: 'PUT', token, json: { visibility: 'public' }, headers: { 'if-match': tag } });
    expect([(await share()).status, (await share()).status]).toEqual([200, 412]);
  });

  it('W13 an input keeps its value whatever its name, that of an option of the command too', async () => {
    const api = await apiKernel([{ text: 'done' }], { only: ONLY });
    const token = await api.token({ userId: 'ann' });
    const input_schema = ['priority', 'input', 'draft', 'city'].map((name) => ({ name }));
    const post = (path: string, json: JsonValue) => api.request(path, { method: 'POST', token, json });
    await post('/api/saved', { name: 'odd', text: JSON.stringify({ system_prompt: 'Say.', input_schema }) });
    const inputs = { priority: 'high', input: 'a=b', draft: 'yes', city: 'Rome' };
    const begun = await post('/api/saved/ann%2Fodd/runs', { inputs });
    expect(begun).toMatchObject({ status: 200 });
    await until(async () => api.model.requests.length === 1);
    for (const value of Object.values(inputs)) expect(JSON.stringify(api.model.requests[0])).toContain(value);
    expect(await post('/api/saved/ann%2Fodd/runs', { inputs: { town: 'Rome' } })).toMatchObject({ status: 400 });
  });

  it('W13 a caller saves and changes a skill by its text, and names no file of this machine', async () => {
    const api = await apiKernel([], { only: ONLY, files: { 'skill.yml': 'system_prompt: Tell.\n' } });
    const token = await api.token({ userId: 'ann' });
    const save = (json: JsonValue) => api.request('/api/saved', { method: 'POST', token, json });
    expect(await save({ name: 'tell', file: 'skill.yml' })).toMatchObject({ status: 400, json: { error: { code: 'request_invalid' } } });
    expect(await save({ name: 'tell', text: 'system_prompt: [' })).toMatchObject({ json: { error: { code: 'skill_file_invalid' } } });
    expect(await save({ name: 'tell', text: 'owner_id: bob\nsystem_prompt: x\n' })).toMatchObject({
      json: { error: { code: 'skill_file_invalid' } },
    });
    expect(await save({ name: 'tell', text: 'system_prompt: Tell.\n' })).toMatchObject({ status: 200, json: { version: '1.0.0' } });
    const change = { method: 'PATCH', token, json: { text: 'system_prompt: Tell all.\n' } };
    expect(await api.request('/api/saved/ann%2Ftell', change)).toMatchObject({ status: 200, json: { system_prompt: 'Tell all.' } });
  });

  it('W13 W21 all fields of a skill that are wrong are answered as data, by their place in its document; inputs of a run by their names', async () => {
    const api = await apiKernel([], { only: ONLY });
    const token = await api.token({ userId: 'ann' });
    const save = async (name: string, content: object) => {
      const { status, json } = await api.request('/api/saved', { method: 'POST', token, json: { name, text: JSON.stringify(content) } });
      return status === 200
        ? []
        : (json as { readonly error: { readonly problems?: readonly { path: JsonValue; message: string }[] } }).error.problems;
    };
    const places = async (name: string, content: object) => (await save(name, content))?.map(({ path }) => path);
    expect(await save('Wrong Name', { system_prompt: 'Greet.' })).toEqual([
      { path: ['name'], message: 'must be 1 to 64 lower-case letters, digits, - and _' },
    ]);
    expect(await save('greet', { system_prompt: '', max_runtime: 'soon', input_schema: [{ name: 'City', typ: 'string' }] })).toEqual([
      { path: ['system_prompt'], message: 'must not be empty' },
      { path: ['input_schema', 0, 'name'], message: 'must begin with a letter and have at most 32 lower-case letters, digits and _' },
      { path: ['input_schema', 0, 'typ'], message: "is unknown (did you mean 'type'?)" },
      { path: ['max_runtime'], message: 'must be a time such as 60s' },
    ]);
    const many = {
      system_prompt: 'Greet.',
      tools: ['nowhere/nothing'],
      uses_skills: ['unknown-one'],
      tags: ['x'.repeat(40)],
      max_iterations: 500,
      default_priority: 9,
      execution_lane: 'fast',
      schedule: 'daily',
      expose_as_chatbot_tool: true,
      chatbot_tool_name: 'skill_invoke',
      chatbot_channel_filter: 'nowhere',
      initial_message: 'Greet {{ town }}.',
      output_target: { kind: 'channel', target: 'nowhere:ann' },
      input_schema: [{ name: 'city', type: 'int', default: 'Rome' }, { name: 'city' }],
    };
    expect((await places('greet', many))?.map(String).toSorted()).toEqual([
      'chatbot_channel_filter',
      'chatbot_tool_name',
      'default_priority',
      'execution_lane',
      'initial_message',
      'input_schema,0,default',
      'input_schema,1,name',
      'max_iterations',
      'output_target,target',
      'schedule',
      'tags',
      'tools',
      'uses_skills',
    ]);
    expect(
      await save('greet', {
        system_prompt: 'Greet.',
        input_schema: [
          { name: 'city', required: true },
          { name: 'count', type: 'int' },
        ],
      }),
    ).toEqual([]);
    expect(await places('greet', { system_prompt: 'Greet.' })).toEqual([['name']]);
    const asked = { method: 'POST', token, json: { inputs: { count: 'many', town: 'Rome' } } };
    expect((await api.request('/api/saved/ann%2Fgreet/runs', asked)).json).toMatchObject({
      error: {
        code: 'input_invalid',
        problems: [
          { path: ['town'], message: 'is unknown' },
          { path: ['city'], message: 'is missing' },
          { path: ['count'], message: "'many' is not a whole number of at most 16 digits" },
        ],
      },
    });
    const unknown = await api.request('/api/saved/ann%2Fgreet/runs', { method: 'POST', token, json: { wrong: 1 } });
    expect(unknown.json).toMatchObject({ error: { code: 'request_invalid', problems: [{ path: ['wrong'], message: 'is unknown' }] } });
  });

  it('W13 W5 lanes count the runs of who asks, and for administrators those of all', async () => {
    const open = gate();
    const api = await apiKernel([async () => (await open.opened, { text: 'One.' }), { text: 'Two.' }], {
      only: ONLY,
      files: { 'pith.yaml': 'default_agent: helper\nextensions: { saved_skills: { lanes: { skill-default: { slots: 1 } } } }\n' },
    });
    const ask = async (token: string) => (await api.request('/api/lanes', { token })).json;
    const [ann, bob, root] = [
      await api.token({ userId: 'ann' }),
      await api.token({ userId: 'bob' }),
      await api.token({ role: 'admin', may: 'admin' }),
    ];
    await api.request('/api/saved', { method: 'POST', token: ann, json: { name: 'greet', text: TEXT } });
    for (const _ of [1, 2]) await api.request('/api/saved/ann%2Fgreet/runs', { method: 'POST', token: ann, json: {} });
    const lane = (running: number, queued: number) => [{ lane: 'skill-default', slots: 1, running, queued }];
    await until(async () => JSON.stringify(await ask(ann)) === JSON.stringify(lane(1, 1)));
    expect([await ask(bob), await ask(root)]).toEqual([lane(0, 0), lane(1, 1)]);
    open.open();
    await until(async () => JSON.stringify(await ask(root)) === JSON.stringify(lane(0, 0)));
  });
});
