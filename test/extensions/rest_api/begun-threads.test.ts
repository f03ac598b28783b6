import { expect, it } from 'vitest';
import { apiKernel } from './api-kernel.ts';

it('W21 a thread without a message is renamed, exported and deleted as any other, and keeps its name over its first message', async () => {
  const api = await apiKernel([{ text: 'hello' }]);
  const [token, other] = [await api.token({ userId: 'ann' }), await api.token({ userId: 'bob' })];
  const id = await api.thread(token);
  const ask = (method: string, more = '', of = { method, token }) => api.request(`/api/threads/${id}${more}`, of);
  const patch = (title: string, by = token) => api.request(`/api/threads/${id}`, { method: 'PATCH', token: by, json: { title } });
  expect((await patch('Mine', other)).status).toBe(404);
  expect(await patch('Plans')).toMatchObject({ status: 200, json: { thread: { id, title: 'Plans', agentId: null } } });
  const { headers, json } = await ask('GET');
  expect(json).toMatchObject({ thread: { title: 'Plans' } });
  const late = { method: 'PATCH', token, json: { title: 'Late' }, headers: { 'if-match': '"another"' } };
  expect((await api.request(`/api/threads/${id}`, late)).status).toBe(412);
  expect(headers['etag']).toBeDefined();
  expect((await ask('GET', '/export')).text).toBe(`# Plans\n\nConversation ${id}\n`);
  expect((await ask('GET', '/export?format=json')).json).toMatchObject({ id, title: 'Plans', messages: [] });
  expect((await ask('GET', '/usage')).json).toEqual({ model: null, effort: null, used: [] });
  await api.request(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text: 'Hi there' } });
  expect((await ask('GET')).json).toMatchObject({ thread: { title: 'Plans', agentId: 'helper' } });

  const empty = await api.thread(token);
  const remove = (by: string) => api.request(`/api/threads/${empty}`, { method: 'DELETE', token: by });
  expect((await remove(other)).status).toBe(404);
  expect((await remove(token)).status).toBe(204);
  expect((await api.request(`/api/threads/${empty}`, { token })).status).toBe(404);
});
