import { describe, expect, it } from 'vitest';
import type { JsonValue } from 'pith';
import { fakeClock, scriptedModel, testKernel } from 'pith/testing';
import { kernelCommands } from '../../../core/cli/index.ts';
import { until } from '../../waiting.ts';
import { apiKernel, type ApiKernel, type ServerEvent, upTo } from './api-kernel.ts';

/** A place in the journal, and what the reader may see behind it until `thread` has changed. */
async function behind(api: ApiKernel, token: string, last: string | undefined, thread: string) {
  const stream = await api.events('/api/events', { token, headers: last === undefined ? {} : { 'last-event-id': last } });
  const seen = await upTo(stream, ({ event, data }) => event === 'changed' && data['id'] === thread);
  stream.leave();
  return seen;
}

const placesOf = (events: readonly ServerEvent[]) => events.flatMap(({ id }) => id ?? []);

describe('events over HTTP', () => {
  it('W2 W5 W16 tell what changed, to whom it belongs, and what their turns say', async () => {
    const api = await apiKernel([{ text: 'for Ann' }, { text: 'for Bob' }]);
    const [ann, bob] = [await api.token({ userId: 'ann' }), await api.token({ userId: 'bob' })];
    const [streamA, streamB] = [await api.events('/api/events', { token: ann }), await api.events('/api/events', { token: bob })];
    expect([await streamA.next(), await streamB.next()]).toMatchObject(
      ['ann', 'bob'].map((userId) => ({ event: 'ready', data: { userId } })),
    );
    const [a, b] = [await api.thread(ann), await api.thread(bob)];
    const say = (token: string, id: string) => api.request(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text: 'hi' } });
    await say(ann, a);
    await say(bob, b);
    const seenA = await upTo(streamA, ({ event, data }) => event === 'changed' && data['id'] === a);
    const seenB = await upTo(streamB, ({ event, data }) => event === 'changed' && data['id'] === b);
    expect(JSON.stringify(seenB)).not.toMatch(new RegExp(`${a}|for Ann`, 'u'));
    expect(JSON.stringify(seenA)).not.toMatch(new RegExp(`${b}|for Bob`, 'u'));
    const turns = seenA.filter(({ event }) => event === 'turn');
    expect(turns.map(({ data }) => data['n'])).toEqual(turns.map((_, at) => at + 1));
    expect([turns[0]?.id, turns.at(-1)?.data]).toMatchObject([undefined, { thread: a, event: { type: 'turn-end', reason: 'done' } }]);
  });

  it('W16 W21 who asks who they are learns the present place: behind it nothing that changed before the stream began is missing', async () => {
    const api = await apiKernel([{ text: 'hello' }]);
    const token = await api.token({ userId: 'ann' });
    const { events } = (await api.request('/api/me', { token })).json as { readonly events: string };
    const id = await api.thread(token);
    await api.request(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text: 'hi' } });
    const [first, ...seen] = await behind(api, token, events, id);
    expect([first?.event, first?.id]).toEqual(['ready', events]);
    expect(seen.at(-1)).toMatchObject({ event: 'changed', data: { kind: 'thread', id } });
  });

  it('W5 what only administrators may look at is told to them alone, also where it happened before', async () => {
    const api = await apiKernel([{ text: 'a' }, { text: 'b' }]);
    const [user, admin] = [await api.token({ userId: 'ann' }), await api.token({ userId: 'local', may: 'admin' })];
    const kindsOf = (events: readonly ServerEvent[]) => [...new Set(events.map(({ data }) => data['kind']))];
    const streams = [await api.events('/api/events', { token: user }), await api.events('/api/events', { token: admin })] as const;
    const ready = await streams[0].next();
    await streams[1].next();
    const start = `${ready?.id?.split('-')[0]}-0`;
    api.pith.kernel.events.publish('extension.reloaded', { extensionId: 'risky', version: '1' } as never);
    for (const [at, token] of [user, admin].entries()) {
      const id = await api.thread(token);
      await api.request(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text: 'hi' } });
      const live = await upTo(streams[at] as (typeof streams)[0], ({ data }) => data['id'] === id);
      const before = await behind(api, token, start, id);
      for (const events of [live, before]) expect(kindsOf(events).includes('extension')).toBe(token === admin);
      expect(kindsOf(before)).toContain('skill');
    }
  });

  it('W5 W14 W16 jobs and schedules are told to whose they are and to administrators, proposals to administrators alone', async () => {
    const later = { name: 'schedule_once', input: { message: 'count', in: '2h' } };
    const api = await apiKernel([{ calls: [later] }, { text: 'scheduled' }, { text: 'counted' }, { text: 'hello' }], {
      only: ['http', 'rest_api', 'skill_registry', 'skill_proposals', 'task_engine', 'scheduler'],
      files: {
        'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [scheduler] }\n',
        'data/extensions/skill_registry/proposals/odd.md': 'not a proposal',
      },
    });
    const [ann, bob, root] = [
      await api.token({ userId: 'ann' }),
      await api.token({ userId: 'bob' }),
      await api.token({ userId: 'local', may: 'admin' }),
    ];
    const open = async (token: string, last = '') =>
      api.events('/api/events', { token, headers: last === '' ? {} : { 'last-event-id': last } });
    const streams = [await open(ann), await open(bob), await open(root)] as const;
    const [ready] = await Promise.all(streams.map(async (each) => each.next()));
    const ofKind = (kind: string) => (event: ServerEvent) => event.data['kind'] === kind;
    const post = async (path: string, token: string, json: JsonValue) => {
      const answer = await api.request(path, { method: 'POST', token, json });
      expect([path, answer.status, answer.json]).toEqual([path, 200, expect.anything()]);
    };
    await post(`/api/threads/${await api.thread(ann)}/messages`, ann, { text: 'later' });
    const seen = new Map<string, ServerEvent[]>();
    const read = async (who: string, stream: (typeof streams)[0], is: (event: ServerEvent) => boolean) =>
      void seen.set(who, [...(seen.get(who) ?? []), ...(await upTo(stream, is))]);
    const [{ schedule_id: id }] = (await api.request('/api/schedules', { token: ann })).json as unknown as [{ schedule_id: string }];
    for (const [who, stream] of [
      ['ann', streams[0]],
      ['root', streams[2]],
    ] as const)
      await read(who, stream, ({ data }) => data['kind'] === 'schedule' && data['id'] === id);
    await post('/api/tasks', ann, { goal: ['count'] });
    await read('ann', streams[0], ofKind('job'));
    await read('root', streams[2], ofKind('job'));
    await post('/api/proposals/odd/reject', root, {});
    await read('root', streams[2], ({ data }) => data['kind'] === 'proposal' && data['id'] === 'odd');
    await until(() => api.model.requests.length === 3);
    const last = await api.thread(bob);
    await post(`/api/threads/${last}/messages`, bob, { text: 'hi' });
    await read('bob', streams[1], ({ data }) => data['id'] === last);
    const again = await open(bob, `${ready?.id?.split('-')[0]}-0`);
    await read('bob', again, ({ data }) => data['id'] === last); // what is read later is filtered too
    const kinds = (who: string) => new Set((seen.get(who) ?? []).map(({ data }) => data['kind']));
    for (const kind of ['job', 'schedule', 'proposal']) {
      expect([kind, kinds('root').has(kind)]).toEqual([kind, true]);
      expect([kind, kinds('ann').has(kind)]).toEqual([kind, kind !== 'proposal']);
      expect([kind, kinds('bob').has(kind)]).toEqual([kind, false]);
    }
  });

  it('W14 W16 jobs that another process has changed are told, too', async () => {
    const api = await apiKernel([], { only: ['http', 'rest_api', 'task_engine'] });
    const token = await api.token({ userId: 'local', may: 'admin' });
    const paused = await api.request('/api/jobs/pause', { method: 'POST', token, json: { name: 'task_engine.work' } });
    expect(paused.status).toBe(200);
    const stream = await api.events('/api/events', { token });
    await stream.next();
    const elsewhere = await testKernel({
      sandbox: api.pith.sandbox,
      only: ['task_engine'],
      commands: kernelCommands,
      model: scriptedModel([]),
    });
    const { code } = await elsewhere.command('tasks submit count');
    expect(code).toBe(0);
    expect((await upTo(stream, ({ data }) => data['kind'] === 'job')).at(-1)?.data).toEqual({ kind: 'job', id: '' });
    await elsewhere.kernel.stop();
  });

  it('W16 go on behind each place without a gap or a double, over a restart and what happened meanwhile elsewhere', async () => {
    const api = await apiKernel([{ text: 'said' }, { text: 'said' }]);
    const token = await api.token({ userId: 'ann' });
    const first = await api.events('/api/events', { token });
    const [ready] = [await first.next()];
    const ids = [await api.thread(token), await api.thread(token)];
    const say = (id: string) => api.request(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text: 'hi' } });
    for (const id of ids) await say(id);
    const whole = await behind(api, token, ready?.id, ids[1] as string);
    const places = placesOf(whole);
    for (const [at, place] of places.entries()) {
      if (at === places.length - 1) break;
      const rest = await behind(api, token, place, ids[1] as string);
      const [opened, ...changes] = placesOf(rest);
      expect([opened, ...changes]).toEqual([place, ...places.slice(at + 1, at + 1 + changes.length)]);
    }
    await api.pith.kernel.stop();
    const elsewhere = await testKernel({
      sandbox: api.pith.sandbox,
      model: scriptedModel([{ text: 'b' }, { text: 'c' }]),
      only: [],
    });
    await elsewhere.run('while it was down', { threadId: 'meanwhile', userId: 'ann' });
    await elsewhere.run('not yours', { threadId: 'not-yours', userId: 'bob' });
    await elsewhere.kernel.stop();
    await api.restart();
    const after = await behind(api, token, places.at(-1), 'meanwhile');
    expect(after[0]).toMatchObject({ event: 'ready', id: places.at(-1) });
    expect(JSON.stringify(after)).not.toContain('not-yours');
  });

  it('W16 an id that is unknown, of another journal or in the future is answered by reset, with the place from which to go on', async () => {
    const api = await apiKernel();
    const token = await api.token({ userId: 'ann' });
    const ready = await (await api.events('/api/events', { token })).next();
    const [name = '', place = ''] = ready?.id?.split('-') ?? [];
    for (const last of ['x', '12', `abcdef01-${place}`, `${name}-${Number(place) + 1000}`, `${name}--1`]) {
      const answer = await (await api.events('/api/events', { token, headers: { 'last-event-id': last } })).next();
      expect(answer, last).toMatchObject({ event: 'reset', id: expect.stringMatching(`^${name}-\\d+$`) as string });
    }
    expect(await (await api.events('/api/events', { token, headers: { 'last-event-id': ready?.id ?? '' } })).next()).toMatchObject({
      event: 'ready',
    });
  });

  it('W16 what changed is told for a day: an id that is older is answered by reset', async () => {
    const hours = (count: number) => fakeClock(Date.now() + count * 3_600_000);
    const first = await apiKernel([{ text: 'one' }], { clock: hours(0) });
    const token = await first.token({ userId: 'ann' });
    const opened = async (api: ApiKernel, last?: string) => {
      const stream = await api.events('/api/events', { token, headers: last === undefined ? {} : { 'last-event-id': last } });
      const event = await stream.next();
      stream.leave();
      return event;
    };
    const say = async (api: ApiKernel) =>
      api.request(`/api/threads/${await api.thread(token)}/messages`, { method: 'POST', token, json: { text: 'hi' } });
    const old = (await opened(first))?.id;
    await say(first);
    const newer = (await opened(first))?.id;
    const served = async (after: number) => {
      const api = await apiKernel([{ text: 'more' }], { sandbox: first.pith.sandbox, clock: hours(after) });
      await say(api);
      return api;
    };
    await first.pith.kernel.stop();
    const second = await served(23);
    expect(await opened(second, old)).toMatchObject({ event: 'ready', id: old });
    const last = (await opened(second))?.id;
    await second.pith.kernel.stop();
    const third = await served(25);
    expect([await opened(third, old), await opened(third, newer), await opened(third, last)]).toMatchObject([
      { event: 'reset' },
      { event: 'ready', id: newer },
      { event: 'ready', id: last },
    ]);
  });

  it('W16 W17 what another process says in a thread, and its end from there, are told', async () => {
    const api = await apiKernel();
    const token = await api.token({ userId: 'ann' });
    const stream = await api.events('/api/events', { token });
    await stream.next();
    const elsewhere = await testKernel({ sandbox: api.pith.sandbox, model: scriptedModel([{ text: 'on and on', hang: true }]), only: [] });
    const running = elsewhere.run('from a terminal', { threadId: 'terminal', userId: 'ann' });
    await upTo(stream, ({ event, data }) => event === 'changed' && data['id'] === 'terminal');
    expect((await api.request('/api/threads/terminal', { token })).json).toMatchObject({ thread: { state: 'running' }, live: null });
    const stopped = await api.request('/api/threads/terminal/stop', { method: 'POST', token, json: {} });
    expect([stopped.json, (await running).reason]).toEqual([{ state: 'stopped' }, 'aborted']);
    await upTo(stream, ({ event, data }) => event === 'changed' && data['id'] === 'terminal');
    await elsewhere.kernel.stop();
  });
});
