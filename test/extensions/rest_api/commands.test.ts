import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { JsonValue } from 'pith';
import type { ScriptedStep } from 'pith/testing';
import { kernelCommands } from '../../../core/cli/index.ts';
import { type Asked, servedKernel } from '../http/served-kernel.ts';
import { withCures } from '../../../sandbox/extensions/rest_api/commands/cures.ts';
import { COMMAND_ROUTES } from '../../../sandbox/extensions/rest_api/commands/table.ts';
import { zipOf } from '../skill_install/zip-writer.ts';
import { apiKernel, type ApiKernel } from './api-kernel.ts';

const SKILL = '---\nname: letters\ndescription: Write a letter. Use when somebody wants a letter.\ntags: [post]\n---\n\nWrite it.\n';
const SAVED = 'name: greet\ndescription: Greets.\nsystem_prompt: Greet.\ninput_schema: [{ name: city, type: string, required: true }]\n';
const WITH_COMMANDS = [
  'http',
  'rest_api',
  'skill_registry',
  'skill_install',
  'skill_proposals',
  'skill_search',
  'saved_skills',
  'task_engine',
  'scheduler',
  'recipes',
];

async function withCommands(
  script: readonly ScriptedStep[] = [],
): Promise<
  ApiKernel & { readonly post: (path: string, token: string, json?: JsonValue, method?: string) => ReturnType<ApiKernel['request']> }
> {
  const api = await apiKernel(script, { only: WITH_COMMANDS, files: { 'skills/letters/SKILL.md': SKILL, 'greet.yml': SAVED } });
  const post = (path: string, token: string, json: JsonValue = {}, method = 'POST') => api.request(path, { method, token, json });
  return { ...api, post };
}

/** A path of the table with something in the place of each name. */
const filled = (path: string): string => path.replaceAll(/\{\w+\}/gu, 'nothing');

const asked = (method: string): Asked => (method === 'GET' ? {} : { method, json: {} });

describe('routes that commands answer', () => {
  it('W21 answer what the command prints as JSON, with cures as data, to a query, a path and a body', async () => {
    const api = await withCommands([{ text: 'done' }]);
    const token = await api.token({ role: 'admin', may: 'admin' });
    const { values } = await api.pith.command(['skills', 'list', '--all'], { json: true });
    // The server has read bodies whose tokens the command estimates.
    const named = (rows: JsonValue | undefined) =>
      (rows as { path: string; tokens: number }[]).map((row) => ({
        ...row,
        tokensEstimated: false,
        path: row.path.split('/').slice(-2),
        tokens: row.tokens > 0,
      }));
    const skills = (await api.request('/api/skills?all=true', { token })).json;
    expect(named(skills)).toEqual(named(withCures(values[0] ?? [])));
    expect((await api.request('/api/skills/letters', { token })).json).toMatchObject({
      id: 'letters',
      body: '\nWrite it.\n',
      tags: ['post'],
    });
    expect((await api.request('/api/all-skills/search?query=write&query=letter&limit=1', { token })).json).toMatchObject([
      { id: 'letters' },
    ]);
    const made = await api.post('/api/skills', token, { id: 'poems', description: 'Write a poem. Use when somebody wants one.' });
    expect(made).toMatchObject({ status: 200, json: { ok: true, id: 'poems' } });
    const task = (await api.post('/api/tasks', token, { goal: ['count', 'to ten'], max_steps: 3 })).json as { readonly id: string };
    expect((await api.request(`/api/tasks/${task.id}`, { token })).json).toMatchObject({ goal: 'count to ten' });
  });

  it('W12 W21 a skill is named by its id, or its source and id, whatever its name: that of another route too', async () => {
    const names = [
      ...new Set(COMMAND_ROUTES.flatMap(({ path }) => /^\/api\/(?:all-)?skills\/([a-z]+)$/u.exec(path)?.[1] ?? [])),
      'proposals',
    ];
    expect(names).toEqual(expect.arrayContaining(['search', 'lint', 'stats', 'suggestions', 'install']));
    const files = names.map((name) => [`skills/${name}/SKILL.md`, SKILL.replace('letters', name)]);
    const api = await apiKernel([], { only: WITH_COMMANDS, files: Object.fromEntries(files) });
    const token = await api.token({ may: 'admin' });
    for (const name of names) {
      expect((await api.request(`/api/skills/${name}`, { token })).json).toMatchObject({ id: name, body: expect.any(String) });
      const at = `/api/skills/${encodeURIComponent(`sandbox/skills/${name}`)}`;
      expect((await api.request(at, { token })).json).toMatchObject({ id: name, source: 'sandbox/skills', body: expect.any(String) });
      for (const below of ['history', 'resources', 'explain?text=letter'])
        expect([name, below, (await api.request(`${at}/${below}`, { token })).status]).toEqual([name, below, 200]);
      expect(await api.request(at, { method: 'DELETE', token, json: {} })).toMatchObject({ status: 409 });
    }
  });

  it('W21 refuse what the command does not know, and say what it knows', async () => {
    const api = await withCommands();
    const token = await api.token({ role: 'admin', may: 'admin' });
    const wrong = [
      await api.request('/api/skills?al=true', { token }),
      await api.request('/api/skills?all=perhaps', { token }),
      await api.post('/api/tasks', token, { goal: 'one text' }),
      await api.post('/api/tasks', token, {}),
      await api.post('/api/tasks', token, { goal: ['x'], yes: true }),
    ];
    expect(wrong.map(({ status, json }) => [status, (json as { error: { code: string } }).error.code])).toEqual(
      wrong.map(() => [400, 'request_invalid']),
    );
    expect((await api.request('/api/skills/nothing', { token })).json).toMatchObject({ error: { code: 'skill_not_found' } });
    expect((await api.request('/api/hooks', { token })).status).toBe(404); // its extension is off
    const again = await api.post('/api/skills', token, { id: 'letters' });
    expect(again).toMatchObject({ status: 422, json: { error: { code: 'skill_exists' } } });
    expect(again.text).not.toContain(api.pith.sandbox);
  });

  it('W31 W3 advice is given about known skills only, and says nothing else of the machine', async () => {
    const api = await apiKernel([], { only: [...WITH_COMMANDS, 'skill_lint'], files: { 'skills/letters/SKILL.md': SKILL } });
    mkdirSync(path.join(api.pith.sandbox, 'notes'));
    writeFileSync(path.join(api.pith.sandbox, 'notes/SKILL.md'), '---\nname: notes\n---\n');
    const token = await api.token({ role: 'admin', may: 'admin' });
    const lint = (skill: string) => api.request(`/api/all-skills/lint?skill=${encodeURIComponent(skill)}`, { token });
    expect((await lint('letters')).json).toMatchObject([{ path: expect.stringContaining('letters') }]);
    for (const one of ['../../../etc/passwd', '/etc', 'notes', '/nowhere', `${api.pith.sandbox}/notes`]) {
      const { status, text } = await lint(one);
      expect([one, status]).toEqual([one, 404]);
      expect(text).toContain('skill_not_found');
      expect(text).not.toContain(api.pith.sandbox);
    }
  });

  it('W21 a NUL is refused in whatever field or name it is, which is named', async () => {
    const api = await withCommands();
    const token = await api.token({ userId: 'ann' });
    const thread = await api.thread(token);
    for (const [place, json, path] of [
      [`threads/${thread}/messages`, { text: 'hi', key: 'a\0' }, ['key']],
      ['tasks', { goal: ['x'], after: ['b', 'a\0b'] }, ['after', 1]],
      ['tasks', { goal: ['x'], 'a\0': 1 }, ['a\u2400']],
    ] as const) {
      const { status, json: answer } = await api.request(`/api/${place}`, { method: 'POST', token, json });
      expect([status, answer]).toMatchObject([
        400,
        { error: { code: 'body_invalid', problems: [{ path, message: 'has a character U+0000' }] } },
      ]);
    }
  });

  it('W21 W31 refuse empty names, characters that no command line has, and cursors of no list', async () => {
    const api = await withCommands();
    const token = await api.token({ role: 'admin', may: 'admin' });
    for (const from of ['', '\0', './a\0b'])
      expect([from, await api.post('/api/skills/install', token, { from })]).toMatchObject([from, { status: 400 }]);
    for (const query of ['text=%00', 'cursor=abc']) {
      const answer = await api.request(`/api/threads?${query}`, { token });
      expect([query, answer]).toMatchObject([query, { status: 400 }]);
      expect(answer.text).not.toMatch(/Error|store|sqlite/u);
    }
  });

  it('W15 W21 refuse settings with names that nothing goes by, as a start reports them, and write nothing', async () => {
    const api = await withCommands();
    const token = await api.token({ role: 'admin', may: 'admin' });
    const file = path.join(api.pith.sandbox, 'pith.yaml');
    const before = readFileSync(file, 'utf8');
    const set = (...values: readonly string[]) => api.request('/api/settings', { method: 'PATCH', token, json: { values } });
    for (const [value, said] of [
      ['default_agent=nonexistent', "there is no agent 'nonexistent'"],
      ['default_agent="x\\ny: z"', 'there is no agent'],
    ] as const) {
      const answer = await set(value);
      expect([value.slice(0, 50), answer]).toMatchObject([
        value.slice(0, 50),
        { status: 400, json: { error: { code: 'config_invalid', problems: [{ path: ['default_agent'] }] } } },
      ]);
      expect(answer.text).toContain(said);
      expect(answer.text.length).toBeLessThan(1000);
    }
    expect((await set('effort=huge')).json).toMatchObject({ error: { code: 'config_invalid', problems: [{ path: ['effort'] }] } });
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect((await set('default_agent=helper')).status).toBe(200);
    rmSync(file);
    mkdirSync(file);
    const refused = await set('effort=low');
    expect(refused).toMatchObject({ status: 400, json: { error: { code: 'settings_invalid' } } });
    expect(refused.text).not.toContain(api.pith.sandbox);
  });

  it('W15 W21 refuse models of no provider, as a start reports them', async () => {
    const api = await servedKernel({ only: ['http', 'rest_api'], commands: kernelCommands });
    const token = await api.token({ role: 'admin', may: 'admin' });
    for (const value of [`models.default=${'x'.repeat(100_000)}`, 'models={"default":"nowhere/x"}', 'models.default="a\\u0000\\u001b"']) {
      const answer = await api.request('/api/settings', { method: 'PATCH', token, json: { values: [value] } });
      expect(answer).toMatchObject({ status: 400, json: { error: { code: 'config_invalid' } } });
      expect(answer.text).toContain('models.default');
      expect(answer.text.length).toBeLessThan(1000);
    }
  });

  it('W21 what is shown and asked in a terminal is answered 409, and done once its digest is agreed to', async () => {
    const api = await withCommands();
    const token = await api.token({ role: 'admin', may: 'admin' });
    const remove = (json: JsonValue = {}) => api.post('/api/skills/letters', token, json, 'DELETE');
    const first = await remove();
    expect(first).toMatchObject({ status: 409, json: { error: { code: 'confirmation_needed' } } });
    const { confirm } = first.json as { readonly confirm: string };
    expect((await remove()).json).toEqual(first.json);
    expect(await remove({ confirm: ['0'.repeat(64)] })).toMatchObject({ status: 409, json: { confirm } });
    expect((await api.request('/api/skills/letters', { token })).status).toBe(200);
    expect((await remove({ confirm: [confirm] })).status).toBe(200);
    expect((await api.request('/api/skills/letters', { token })).status).toBe(404);
  });

  it('W21 of two who change the same thing with one tag at once, the first does; what a query asks for has no tag', async () => {
    const api = await withCommands();
    const token = await api.token({ role: 'admin', may: 'admin' });
    await api.post('/api/saved', token, { name: 'greet', text: SAVED });
    for (const [path, method, bodies] of [
      [
        '/api/saved/local%2Fgreet',
        'PATCH',
        ['One.', 'Two.', 'Three.'].map((system_prompt) => ({ text: JSON.stringify({ system_prompt }) })),
      ],
      ['/api/settings', 'PATCH', ['low', 'medium', 'high'].map((effort) => ({ values: [`effort=${effort}`] }))],
    ] as const) {
      const tag = (await api.request(path, { token })).headers['etag'] ?? '';
      const change = (json: JsonValue) => api.request(path, { method, token, json, headers: { 'if-match': tag } });
      const statuses = (await Promise.all(bodies.map(change))).map(({ status }) => status);
      expect([path, statuses.toSorted()]).toEqual([path, [200, 412, 412]]);
    }
    const { headers } = await api.request('/api/settings?id=rest_api', { token });
    expect(headers['etag']).toBeUndefined();
  });

  it('W12 W21 an uploaded archive is looked into and shown first, and installed once that is agreed to', async () => {
    const api = await withCommands();
    const token = await api.token({ role: 'admin', may: 'admin' });
    const archive = zipOf([{ name: 'poems/SKILL.md', text: SKILL.replaceAll('letter', 'poem') }]);
    const upload = (type: string) =>
      api.request('/api/uploads', { method: 'POST', token, body: archive, headers: { 'content-type': type } });
    expect((await upload('application/json')).status).toBe(415);
    const once = async (text: string) => {
      const headers = { 'content-type': 'application/zip', 'idempotency-key': 'one' };
      return api.request('/api/uploads', { method: 'POST', token, body: zipOf([{ name: 'odes/SKILL.md', text }]), headers });
    };
    const [first, again, other] = [await once(SKILL), await once(SKILL), await once(`${SKILL}more`)];
    expect([first.status, again.text]).toEqual([201, first.text]);
    expect(other).toMatchObject({ status: 422, json: { error: { code: 'key_used' } } });
    const { from } = (await upload('application/zip')).json as { readonly from: string };
    const shown = await api.post('/api/skills/install', token, { from });
    expect(shown).toMatchObject({ status: 409, json: { shown: expect.stringContaining('poems') } });
    expect((await api.request('/api/skills/poems', { token })).status).toBe(404);
    const { confirm } = shown.json as { readonly confirm: string };
    // What was agreed to is this very request.
    expect(await api.post('/api/skills/install', token, { from, force: true, confirm: [confirm] })).toMatchObject({ status: 409 });
    expect(await api.post('/api/skills/install', token, { from, confirm: [confirm] })).toMatchObject({ status: 200 });
    expect((await api.request('/api/skills/poems', { token })).json).toMatchObject({ state: 'offered' });
  });

  it('W2 W21 a token is made once with its key, kept nowhere, and a repeated request is told that it was shown', async () => {
    const api = await withCommands();
    const token = await api.token({ role: 'admin', may: 'admin' });
    const headers = { 'idempotency-key': 'one' };
    const make = (user: string) => api.request('/api/tokens', { method: 'POST', token, json: { user }, headers });
    const made = (await make('ann')).json as unknown as { readonly id: string; readonly token: string };
    const again = await make('ann');
    expect(again).toMatchObject({ status: 409, json: { error: { code: 'shown_before', message: expect.stringContaining('only once') } } });
    expect(again.text).not.toContain(made.token);
    expect(await make('bob')).toMatchObject({ status: 422, json: { error: { code: 'key_used' } } });
    const listed = (await api.request('/api/tokens', { token })).text;
    expect([listed.split('"ann"').length, listed.includes('"bob"')]).toEqual([2, false]);
    expect((await api.request('/api/agents', { token: made.token })).status).toBe(200);
    const files = await readdir(`${api.pith.sandbox}/data`, { recursive: true, withFileTypes: true });
    for (const file of files.filter((each) => each.isFile())) {
      const bytes = await readFile(path.join(file.parentPath, file.name));
      expect([file.name, bytes.includes(made.token)]).toEqual([file.name, false]);
    }
    expect((await api.request(`/api/tokens/${made.id}`, { method: 'DELETE', token, json: {} })).status).toBe(200);
    expect((await api.request('/api/agents', { token: made.token })).status).toBe(401);
  });

  it('W11 what the model sees of a conversation, in parts with their tokens, is for its owner alone', async () => {
    const files = {
      'agents/helper/manifest.yaml': 'id: helper\nagent: {}\n',
      'agents/helper/prompt.jinja2': 'For {{ user }} in {{ channel }}.',
    };
    const api = await apiKernel([{ text: 'Hello' }], { files });
    const [ann, bob] = [await api.token({ userId: 'ann' }), await api.token({ userId: 'bob' })];
    const id = await api.thread(ann);
    await api.request(`/api/threads/${id}/messages`, { method: 'POST', token: ann, json: { text: 'Good day' } });
    const { json } = await api.request(`/api/threads/${id}/context?text=more`, { token: ann });
    expect(JSON.stringify(json)).toContain('Good day');
    expect(JSON.stringify(json)).toContain('For ann in web.');
    expect(json).toMatchObject({ tokens: { parts: expect.arrayContaining([expect.objectContaining({ name: expect.any(String) })]) } });
    const place = encodeURIComponent(path.join(api.pith.sandbox, 'notes'));
    const shown = (await api.request(`/api/threads/${id}/context?text=${place}`, { token: ann })).text;
    expect(shown).toContain('sandbox/notes');
    expect(shown).not.toContain(api.pith.sandbox);
    expect((await api.request(`/api/threads/${id}/context`, { token: bob })).status).toBe(404);
  });

  it('W2 W5 each user has their own tasks, jobs, schedules and saved skills; what is another one’s is unknown, in the same words', async () => {
    const api = await withCommands([{ text: 'done' }]);
    const [ann, bob, root] = [
      await api.token({ userId: 'ann', may: 'approve' }),
      await api.token({ userId: 'bob', may: 'approve' }),
      await api.token({ role: 'admin', may: 'admin' }),
    ];
    const { id } = (await api.post('/api/tasks', ann, { goal: ['mine'] })).json as { readonly id: string };
    const ids = async (path: string, token: string) =>
      ((await api.request(path, { token })).json as { readonly id: string }[]).map((each) => each.id);
    expect([await ids('/api/tasks', ann), await ids('/api/tasks', bob), await ids('/api/tasks', root)]).toEqual([[id], [], [id]]);
    const jobs = await ids('/api/jobs', ann);
    expect([jobs.length, await ids('/api/jobs', bob), (await ids('/api/jobs', root)).includes(jobs[0] ?? '')]).toEqual([1, [], true]);
    const other = { task: id.replace(/.$/u, (last) => (last === '0' ? '1' : '0')), job: `${jobs[0]?.slice(0, -1)}0` };
    for (const [method, path, unknown] of [
      ['GET', `/api/tasks/${id}`, `/api/tasks/${other.task}`],
      ['POST', `/api/tasks/${id}/cancel`, `/api/tasks/${other.task}/cancel`],
      ['POST', `/api/tasks/${id}/retry`, `/api/tasks/${other.task}/retry`],
      ['POST', `/api/tasks/${id}/review`, `/api/tasks/${other.task}/review`],
      ['GET', `/api/jobs/${jobs[0]}`, `/api/jobs/${other.job}`],
      ['POST', `/api/jobs/${jobs[0]}/cancel`, `/api/jobs/${other.job}/cancel`],
    ] as const) {
      const [theirs, nobodys] = [
        await api.request(path, { token: bob, ...asked(method) }),
        await api.request(unknown, { token: bob, ...asked(method) }),
      ];
      expect([theirs.status, theirs.text.replaceAll(id, 'X').replaceAll(jobs[0] ?? '', 'X')]).toEqual([
        404,
        nobodys.text.replaceAll(other.task, 'X').replaceAll(other.job, 'X'),
      ]);
    }
    expect((await api.request(`/api/tasks/${id}`, { token: ann })).status).toBe(200);
  });

  it('W5 each needs a token, and those of administrators an administrator’s', async () => {
    const api = await withCommands();
    const [user, chatting] = [await api.token({ userId: 'ann', may: 'approve' }), await api.token({ may: 'chat', role: 'admin' })];
    for (const { method, path, need } of COMMAND_ROUTES) {
      const at = filled(path);
      expect([path, (await api.request(at, asked(method))).status]).toEqual([path, 401]);
      if (need !== 'admin') continue;
      for (const token of [user, chatting])
        expect([path, (await api.request(at, { token, ...asked(method) })).status]).toEqual([path, 403]);
    }
  });

  it('W21 GET /api/openapi.json describes all routes below /api, and is valid OpenAPI 3.1', async () => {
    const api = await withCommands();
    const token = await api.token();
    const { json } = await api.request('/api/openapi.json', { token });
    const { valid, errors } = await new Validator().validate(structuredClone(json) as Record<string, unknown>);
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
    const { paths } = json as unknown as {
      readonly paths: Record<string, Record<string, { readonly operationId: string; readonly requestBody?: JsonValue }>>;
    };
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining(['/api/threads/{id}/messages', '/api/events', '/api/skills', '/api/openapi.json']),
    );
    expect(paths['/api/hooks']).toBeUndefined(); // its extension is off
    expect(paths['/api/tasks']?.['post']?.requestBody).toMatchObject({
      content: {
        'application/json': { schema: { required: ['goal'], properties: { max_steps: { type: 'number' } }, additionalProperties: false } },
      },
    });
    type Described = {
      readonly responses: Record<string, { readonly content?: object; readonly headers?: object }>;
      readonly parameters: { name: string }[];
    };
    const of = (path: string, method: string) => paths[path]?.[method] as unknown as Described;
    const answers = (path: string, method: string) =>
      Object.entries(of(path, method).responses).map(([status, { content = {} }]) => [status, ...Object.keys(content)]);
    const error = ['default', 'application/json'];
    expect(answers('/api/threads', 'post')).toEqual([['201', 'application/json'], error]);
    expect(answers('/api/threads/{id}', 'delete')).toEqual([['204'], error]);
    expect(answers('/api/threads/{id}/messages', 'post')).toEqual([['200', 'application/json', 'text/event-stream'], error]);
    expect(answers('/api/threads/{id}/export', 'get')).toEqual([['200', 'text/markdown', 'application/json'], error]);
    expect(answers('/api/events', 'get')).toEqual([['200', 'text/event-stream'], error]);
    expect(answers('/api/uploads', 'post')).toEqual([['201', 'application/json'], error]);
    expect(answers('/api/skills/install', 'post')).toEqual([['200', 'application/json'], ['409', 'application/json'], error]);
    const named = (path: string, method: string) => of(path, method).parameters.map(({ name }) => name);
    expect(named('/api/saved/{skill}', 'patch')).toEqual(['skill', 'Idempotency-Key', 'If-Match']);
    expect([named('/api/events', 'get'), named('/api/tasks', 'post')]).toEqual([['Last-Event-ID'], ['Idempotency-Key']]);
    expect(of('/api/saved/{skill}', 'get').responses['200']?.headers).toMatchObject({ ETag: {} });
    const changes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).flatMap((method) => (method === 'get' ? [] : [[path, method] as const])),
    );
    expect(changes.filter(([path, method]) => !named(path, method).includes('Idempotency-Key'))).toEqual([]);
    expect(changes.length).toBeGreaterThan(50);
    expect([paths['/api/saved/{skill}']?.['delete']?.requestBody, paths['/api/tasks']?.['post']?.requestBody]).toMatchObject([
      { required: false },
      { required: true },
    ]);
    const operations = Object.values(paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
    expect(new Set(operations).size).toBe(operations.length);
  });
});
