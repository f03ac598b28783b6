import { expect, it } from 'vitest';
import { until } from '../../waiting.ts';
import { apiKernel } from './api-kernel.ts';

it('W21 a change that replaces the listener is answered before the connection ends', async () => {
  const api = await apiKernel();
  const token = await api.token({ role: 'admin', may: 'admin' });
  const send = (method: string, path: string, json = {}) => api.request(path, { method, token, json });
  const was = api.ready();
  const changed = await send('PATCH', '/api/extensions/http/settings', { values: ['connections=400'] });
  expect(changed).toMatchObject({ status: 200, json: { ok: true } });
  expect(changed.headers['connection']).toBe('close');
  await until(() => api.ready() !== was);
  expect((await api.request('/health')).text).toBe('ok');
  const before = api.ready();
  expect(await send('POST', '/api/extensions/http/reload')).toMatchObject({ status: 200 });
  await until(() => api.ready() !== before);
  expect((await api.request('/health')).text).toBe('ok');
});
