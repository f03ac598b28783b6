import { describe, expect, it } from 'vitest';
import type { JsonValue } from 'pith';
import { cureOf, withCures } from '../../../sandbox/extensions/rest_api/commands/cures.ts';
import { apiKernel } from './api-kernel.ts';

const ONLY = ['http', 'rest_api', 'skill_registry', 'saved_skills', 'task_engine', 'scheduler'];
describe('errors below /api are data', () => {
  it('W21 what was sent and names something unknown is a bad request, and the address is known', async () => {
    const api = await apiKernel([], { only: ONLY });
    const token = await api.token({ userId: 'ann' });
    const text = JSON.stringify({ system_prompt: 'Greet.', tools: ['nowhere'] });
    expect(await api.request('/api/saved', { method: 'POST', token, json: { name: 'greet', text } })).toMatchObject({
      status: 400,
      json: { error: { code: 'tool_unknown', problems: [{ path: ['tools'] }] } },
    });
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
