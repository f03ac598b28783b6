import { describe, expect, it } from 'vitest';
import type { JsonValue } from 'pith';
import { cureOf, withCures } from '../../../sandbox/extensions/rest_api/commands/cures.ts';
import { apiKernel } from './api-kernel.ts';

const ONLY = ['http', 'rest_api', 'skill_registry', 'saved_skills', 'task_engine', 'scheduler'];
const LIMITER = {
  'pith.yaml': 'default_agent: helper\nextensions: { limiter: { isolation: in_process } }\n',
  'extensions/limiter/manifest.yaml': '{id: limiter, entrypoint: main.ts, provides: [tool], isolation: in_process}',
  'extensions/limiter/main.ts': `import { z } from 'pith';
export default class {
  getTools() { return []; }
  static config = z.strictObject({ most: z.number().max(9).default(3), names: z.array(z.string()).default([]) }) }
`,
};

describe('errors below /api are data', () => {
  it('W13 W21 what is wrong in a saved skill, in inputs, in settings and in a request has its place', async () => {
    const api = await apiKernel([], { only: ONLY, files: LIMITER });
    const token = await api.token({ role: 'admin', may: 'admin' });
    const issues = async (method: string, path: string, json: JsonValue) => {
      const { status, json: answer } = await api.request(path, { method, token, json });
      const { error } = answer as { readonly error?: { readonly issues?: readonly { readonly path: JsonValue }[] } };
      return [status, error?.issues?.map((issue) => issue.path) ?? JSON.stringify(error)];
    };
    const saved = (content: object) =>
      issues('POST', '/api/saved', { name: 'greet', text: JSON.stringify({ system_prompt: 'Greet.', ...content }) });
    expect(await saved({ input_schema: [{ name: 'Bad' }, { name: 'a', type: 'odd' }], colour: 1 })).toEqual([
      400,
      [['input_schema', 0, 'name'], ['input_schema', 1, 'type'], ['colour']],
    ]);
    expect(await saved({ input_schema: [{ name: 'n', type: 'int', default: 'x' }] })).toEqual([400, [['input_schema', 0, 'default']]]);
    expect(await saved({ tools: ['nowhere'] })).toEqual([400, [['tools']]]);
    expect(await saved({ tags: ['x'.repeat(40)] })).toEqual([400, [['tags']]]);
    expect(await saved({ initial_message: '{{ nobody }}', input_schema: [] })).toEqual([400, [['initial_message']]]);
    const inputs = [
      { name: 'title', required: true },
      { name: 'count', type: 'int' },
    ];
    expect((await saved({ input_schema: inputs }))[0]).toBe(200);
    expect(await issues('POST', '/api/saved/greet/runs', { inputs: { count: 'many', cuont: 1 } })).toEqual([
      400,
      [['title'], ['cuont'], ['count']],
    ]);
    expect(await issues('PATCH', '/api/extensions/limiter/settings', { values: ['most=12', 'names=[1]'] })).toEqual([
      400,
      [['most'], ['names', 0]],
    ]);
    expect(await issues('PATCH', '/api/settings', { values: ['quotas.logs=0'] })).toEqual([400, [['quotas', 'logs']]]);
    expect(await issues('POST', '/api/saved', { name: 7, color: 'red' })).toEqual([400, [['name'], ['color']]]);
    expect(await issues('POST', '/api/approvals/1', { answer: 7 })).toEqual([400, [['answer']]]);
  });

  it('W15 W21 a cure names its command, and the request that is the same', async () => {
    const api = await apiKernel([], { only: ONLY });
    const token = await api.token({ role: 'admin', may: 'admin' });
    const cure = async (path: string, method = 'GET') => {
      const { json } = await api.request(path, { token, method, ...(method === 'GET' ? {} : { json: {} }) });
      return (json as { readonly error: { readonly cure: JsonValue } }).error.cure;
    };
    expect(await cure('/api/saved/nobody%2Fnone')).toEqual({
      command: 'pith saved list',
      request: { method: 'GET', path: '/api/saved', need: 'user' },
    });
    expect(await cure('/api/threads/none')).toEqual({ text: 'list the threads: GET /api/threads' });
  });

  it('W15 cures of findings are data, and what people wrote under that name stays', () => {
    const finding = { severity: 'warning', message: 'it is sick', cure: 'run: pith extensions reload sick' };
    const request = { method: 'POST', path: '/api/extensions/sick/reload', need: 'admin' };
    expect(withCures({ notes: [finding], inputs: { cure: 'aspirin' } })).toEqual({
      notes: [{ ...finding, cure: { command: 'pith extensions reload sick', request } }],
      inputs: { cure: 'aspirin' },
    });
  });

  it('W15 a command is a request where a route takes nothing but the names in its path', () => {
    const request = (cure: string) => cureOf(cure).request ?? null;
    expect(request('correct it, or run: pith extensions reload sick')).toEqual({
      method: 'POST',
      path: '/api/extensions/sick/reload',
      need: 'admin',
    });
    expect(request('run: pith extensions allow sick --yes')?.path).toBe('/api/extensions/sick/allow');
    expect(request('see: pith saved versions ann/greet')?.path).toBe('/api/saved/ann%2Fgreet/versions');
    expect(request('write: pith jobs retry <id>')).toBeNull();
    expect(request('run: pith extensions rollback')).toBeNull();
    expect(request('see: pith runs list --state queued')).toBeNull();
    expect(request('run: pith trust --yes --state')).toBeNull();
  });
});
