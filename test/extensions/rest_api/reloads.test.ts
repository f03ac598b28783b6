import { expect, it } from 'vitest';
import { systemClock } from '@pith/promises';
import { fakeClock } from 'pith/testing';
import { openStore } from '../../../core/store/index.ts';
import { gate, until } from '../../waiting.ts';
import { apiKernel, isTurn, type ServerEvent, upTo } from './api-kernel.ts';

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

it.each([
  ['rest_api', 202, { ok: true, pending: true }],
  ['http', 200, { ok: true, id: 'http' }],
  ['web_channel', 200, { ok: true, id: 'web_channel' }],
] as const)('W15 W21 a reload of %s over its own interface is answered, and the new version answers', async (id, status, json) => {
  // Its time stands still, so that nothing that is waited for is cut.
  const api = await apiKernel([], { only: ['http', 'rest_api', 'web_channel'], clock: fakeClock() });
  const token = await api.token({ role: 'admin', may: 'admin' });
  let isReloaded = false;
  api.pith.kernel.events.handle('extension.reloaded', ({ extensionId }) => void (isReloaded ||= extensionId === id));
  const was = api.ready();
  expect((await api.request('/', { token })).status).toBe(200); // each has answered
  expect(await api.request(`/api/extensions/${id}/reload`, { method: 'POST', token, json: {} })).toMatchObject({ status, json });
  await until(() => isReloaded && (id !== 'http' || api.ready() !== was));
  expect(await api.request(`/api/extensions/${id}`, { token })).toMatchObject({ status: 200, json: { state: 'active' } });
  expect((await api.request('/', { token })).status).toBe(200);
});

it('W16 W17 a reload of the listener ends no turn, and who was watching goes on without a gap or a double', async () => {
  const [held, more] = [gate(), gate()];
  const api = await apiKernel([
    async () => (await held.opened, { text: ['half ', 'whole'] }),
    async () => (await more.opened, { text: 'then' }),
  ]);
  const [ann, root] = [await api.token({ userId: 'ann' }), await api.token({ role: 'admin', may: 'admin' })];
  const path = `/api/threads/${await api.thread(ann)}`;
  const seen: ServerEvent[] = [];
  const read = async (stream: { next(): Promise<ServerEvent | null> }): Promise<void> => {
    for (let event = await stream.next(); event !== null; event = await stream.next()) seen.push(event);
  };
  const first = await api.events('/api/events', { token: ann });
  const cut = read(first).catch(() => undefined); // the connection ends in the middle
  const said = await api.events(`${path}/messages`, { method: 'POST', token: ann, json: { text: 'go', key: 'k' } });
  await upTo(said, isTurn('turn-start'));
  await until(() => seen.some(({ id, data }) => id !== undefined && data['kind'] === 'thread'));
  const was = api.ready();
  expect((await api.request('/api/extensions/http/reload', { method: 'POST', token: root, json: {} })).status).toBe(200);
  await cut;
  await until(() => api.ready() !== was);
  expect((await api.request(path, { method: 'PATCH', token: ann, json: { title: 'meanwhile' } })).status).toBe(409); // it is still at work
  held.open();
  await until(async () => ((await api.request(path, { token: ann })).json as { live: unknown }).live === null); // said while nobody watched
  const last = seen.findLast(({ id }) => id !== undefined)?.id ?? '';
  const second = await api.events('/api/events', { token: ann, headers: { 'last-event-id': last } });
  const again = read(second).catch(() => undefined);
  const next = await api.events(`${path}/messages`, { method: 'POST', token: ann, json: { text: 'on', key: 'k2' } });
  more.open();
  await upTo(next, isTurn('turn-end'));
  const placeOf = ({ id = '' }: ServerEvent): number => Number(id.split('-')[1]);
  const store = openStore(`${api.pith.sandbox}/data/pith.db`, systemClock);
  const written = `SELECT place FROM rest_api__feed WHERE place > ? AND (user_id = 'ann' OR (user_id IS NULL AND kind <> 'extension')) ORDER BY place`;
  const places = () => store.all(written, placeOf(seen[0] as ServerEvent)).map(({ place }) => Number(place));
  const told = () => seen.flatMap((event) => (event.event === 'changed' ? [placeOf(event)] : []));
  await expect.poll(told).toEqual(places());
  await store.close();
  second.leave();
  await again;
  expect(seen.map(({ event }) => event)).not.toContain('reset');
  const { messages } = (await api.request(path, { token: ann })).json as { messages: { text: string }[] };
  expect([messages.map(({ text }) => text), api.model.requests.length]).toEqual([['go', 'half whole', 'on', 'then'], 2]);
});
