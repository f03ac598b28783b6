import { rmSync } from 'node:fs';
import { systemClock } from '@pith/promises';
import { ChannelProvider } from 'pith';
import { scriptedModel, testKernel } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../../core/store/index.ts';
import { gate, until } from '../../waiting.ts';
import { apiKernel, type ApiKernel, isTurn, type ServerEvent, upTo } from './api-kernel.ts';

const RISK = { calls: [{ name: 'risk', input: {} }] };

/** A conversation of ann, whose token may answer. */
async function conversation(api: ApiKernel) {
  const token = await api.token({ userId: 'ann', may: 'approve' });
  const id = await api.thread(token);
  const path = `/api/threads/${id}`;
  const read = async () =>
    (await api.request(path, { token })).json as { thread: { state: string }; messages: { role: string; text: string }[]; live: unknown };
  return {
    token,
    path,
    say: (text: string, key?: string) =>
      api.events(`${path}/messages`, { method: 'POST', token, json: { text, ...(key === undefined ? {} : { key }) } }),
    read,
    async said() {
      return (await read()).messages.flatMap(({ role, text }) => (role === 'user' ? [text] : []));
    },
    isIdle: () =>
      until(async () => {
        const { thread, live } = await read();
        return thread.state === 'idle' && live === null;
      }),
    async question() {
      const { json } = await api.request('/api/approvals', { token });
      return `/api/approvals/${(json as { approvals: { id: string }[] }).approvals[0]?.id}`;
    },
  };
}

describe('messages that wait', () => {
  it('W6 W17 a message that was sent before a question waits for its answer, also over a restart, and answers nothing', async () => {
    const asking = gate();
    const api = await apiKernel([async () => (await asking.opened, RISK), { text: 'finished' }, { text: 'and that' }]);
    const { token, say, said, read, isIdle, question } = await conversation(api);
    const first = await say('go');
    await upTo(first, isTurn('turn-start'));
    expect(await (await say('and then')).next()).toMatchObject({ data: { state: 'queued' } });
    asking.open();
    await upTo(first, isTurn('turn-end'));
    expect(await read()).toMatchObject({ thread: { state: 'awaiting_approval' }, live: { state: 'queued', waiting: 0 } });
    await api.restart();
    await until(async () => (await read()).live !== null); // it waits again
    expect(await said()).toEqual(['go']);
    expect(await api.request(await question(), { method: 'POST', token, json: { answer: 'once' } })).toMatchObject({
      status: 200,
      json: { continues: true },
    });
    await isIdle();
    expect((await read()).messages.map(({ text }) => text)).toEqual(['go', '', '', 'finished', 'and then', 'and that']);
  });

  it('W6 W17 a message that was sent after the question takes its place, and what waited before comes behind it', async () => {
    const asking = gate();
    const api = await apiKernel([async () => (await asking.opened, RISK), { text: 'instead' }, { text: 'and that' }]);
    const { say, said, isIdle } = await conversation(api);
    const first = await say('go');
    await upTo(first, isTurn('turn-start'));
    await (await say('and then')).next();
    asking.open();
    await upTo(first, isTurn('turn-end'));
    await upTo(await say('do this instead'), isTurn('turn-end'));
    await isIdle();
    expect(await said()).toEqual(['go', 'do this instead', 'and then']);
    expect(JSON.stringify(api.model.requests[1]?.messages)).toContain('they wrote instead: do this instead');
  });

  it('W3 W17 ten messages wait in a conversation at most; one is taken back, which makes room', async () => {
    const api = await apiKernel([{ text: ['so '], hang: true }]);
    const { token, path, say } = await conversation(api);
    await upTo(await say('go'), isTurn('turn-start'));
    for (let count = 0; count < 10; count += 1)
      expect(await (await say(`more ${count}`, `k${count}`)).next()).toMatchObject({ event: 'open' });
    const refused = await api.request(`${path}/messages`, { method: 'POST', token, json: { text: 'too much' } });
    expect(refused).toMatchObject({ status: 429, json: { error: { code: 'limit_reached' } } });
    const waiting = async () => (await api.request(`${path}/waiting`, { token })).json;
    expect(await waiting()).toMatchObject({
      waiting: Array.from({ length: 10 }, (_, count) => ({ key: `k${count}`, text: `more ${count}` })),
    });
    const takeBack = () => api.request(`${path}/waiting/k3`, { method: 'DELETE', token });
    expect([await takeBack(), await takeBack()]).toMatchObject([
      { status: 200, json: { text: 'more 3', attachments: [] } },
      { status: 404 },
    ]);
    expect(await (await say('one more', 'k10')).next()).toMatchObject({ data: { state: 'queued' } });
    expect(JSON.stringify(await waiting())).not.toContain('more 3');
  });

  it('W21 a key that was used for another message is refused, in its conversation alone, also over a restart', async () => {
    const api = await apiKernel([{ text: 'one' }, { text: 'other' }]);
    const { token, path } = await conversation(api);
    const other = await conversation(api);
    const say = (to: string, as: string, text: string) =>
      api.request(`${to}/messages`, { method: 'POST', token: as, json: { text, key: 'k' } });
    expect(await say(path, token, 'go')).toMatchObject({ status: 200, json: { text: 'one' } });
    expect(await say(path, token, 'go')).toMatchObject({ status: 200, json: { text: 'one' } });
    await api.restart();
    expect(await say(path, token, 'stay')).toMatchObject({ status: 422, json: { error: { code: 'key_used' } } });
    expect(await say(other.path, other.token, 'stay')).toMatchObject({ status: 200, json: { text: 'other' } });
  });

  it('W17 a turn goes on when its extension is loaded again, repeats no finished tool, and is answered once', async () => {
    const api = await apiKernel([{ calls: [{ name: 'act', input: {} }] }, { text: ['half '], hang: true }, { text: 'the whole' }]);
    const { read, say, isIdle } = await conversation(api);
    await say('go');
    await until(() => api.model.requests.length === 2);
    await api.pith.kernel.host.extensions.reload('rest_api');
    await until(() => api.model.requests.length === 3);
    await isIdle();
    expect((await read()).messages.map(({ text }) => text)).toEqual(['go', '', '', 'half ', 'the whole']);
    const sent = JSON.stringify(api.model.requests[2]?.messages);
    expect([sent.split('did act').length, sent.includes('half ')]).toEqual([2, false]); // what broke off is said again
  });

  it('W17 so does one of a terminal that went on after an answer, which has no key', async () => {
    const api = await apiKernel([RISK, { text: ['half '], hang: true }, { text: 'the whole' }]);
    const { token, path, read, isIdle, question } = await conversation(api);
    const threadId = path.split('/').at(-1) ?? '';
    const asked = { agent: 'helper', userId: 'ann', threadId, channelId: 'cli', input: 'go' };
    const events = [];
    for await (const event of api.pith.kernel.agents.run(asked)) events.push(event);
    expect(events.at(-1)).toMatchObject({ reason: 'awaiting_approval' });
    expect((await api.request(await question(), { method: 'POST', token, json: { answer: 'once' } })).status).toBe(200);
    await until(() => api.model.requests.length === 2);
    await api.pith.kernel.host.extensions.reload('rest_api');
    await until(() => api.model.requests.length === 3);
    await isIdle();
    expect((await read()).messages.map(({ text }) => text)).toEqual(['go', '', '', 'half ', 'the whole']);
    expect(JSON.stringify(api.model.requests[2]?.messages).split('did risk')).toHaveLength(2);
  });

  it('W17 W32 a message behind a turn that cannot go on is refused with the reason, and waits no longer', async () => {
    const agent = 'id: helper\nagent: { uses_tools: [risky] }\n';
    const prompt = '{% if not tools.act %}{% for i in range(999999999) %}x{% endfor %}{% endif %}';
    const api = await apiKernel([{ text: ['so '], hang: true }], {
      files: { 'agents/helper/manifest.yaml': agent, 'agents/helper/prompt.jinja2': prompt },
    });
    const { token, path, say, read, said } = await conversation(api);
    await upTo(await say('go'), isTurn('turn-start'));
    await (await say('and then', 'k1')).next();
    await api.pith.kernel.stop();
    rmSync(`${api.pith.sandbox}/extensions/risky`, { recursive: true });
    const store = openStore(`${api.pith.sandbox}/data/pith.db`, systemClock);
    await store.write((statement) => void statement("UPDATE turns SET state = 'running'")); // as after a kill
    await store.close();
    await api.restart();
    const waiting = async () => ((await api.request(`${path}/waiting`, { token })).json as { waiting: unknown[] }).waiting;
    await until(async () => (await waiting()).length === 0);
    await until(async () => (await read()).live === null);
    expect([(await read()).thread.state, await said(), api.model.requests.length]).toEqual(['cut_off', ['go'], 1]);
  });

  it('W16 W17 that a message waits, and that it was taken back, is told to all that read its events', async () => {
    const api = await apiKernel([{ text: ['so '], hang: true }]);
    const { token, path, say } = await conversation(api);
    await upTo(await say('go'), ({ data }) => JSON.stringify(data).includes('so '));
    const other = await api.events('/api/events', { token });
    expect(await other.next()).toMatchObject({ event: 'ready' });
    const isThread = ({ data }: ServerEvent) => data['kind'] === 'thread' && path.endsWith(String(data['id']));
    const waiting = async () => ((await api.request(`${path}/waiting`, { token })).json as { waiting: unknown[] }).waiting;
    await (await say('and then', 'k1')).next();
    await upTo(other, isThread);
    expect(await waiting()).toEqual([{ key: 'k1', text: 'and then' }]);
    expect((await api.request(`${path}/waiting/k1`, { method: 'DELETE', token })).status).toBe(200);
    await upTo(other, isThread);
    expect(await waiting()).toEqual([]);
  });

  it('W17 of a conversation that is deleted in a terminal nothing is kept, and what waits there begins no other one', async () => {
    const asking = gate();
    const only = ['http', 'rest_api'];
    const api = await apiKernel([async () => (await asking.opened, RISK)], { only });
    const { token, path, say } = await conversation(api);
    const id = path.split('/').at(-1) ?? '';
    const first = await say('go', 'k0');
    await upTo(first, isTurn('turn-start'));
    const waiting = await say('and then', 'k1');
    asking.open();
    await upTo(first, isTurn('turn-end'));
    const elsewhere = await testKernel({ sandbox: api.pith.sandbox, only, model: scriptedModel([]) });
    await elsewhere.kernel.agents.deleteThread(id);
    await elsewhere.kernel.stop();
    expect((await upTo(waiting, isTurn('turn-end'))).at(-1)).toMatchObject({
      data: { turn: null, event: { error: { code: 'thread_unknown' } } },
    });
    await until(async () => (await api.request(path, { token })).status === 404);
    const store = openStore(`${api.pith.sandbox}/data/pith.db`, systemClock);
    const left = ['begun', 'keys', 'queued', 'ends'].map((table) => store.all(`SELECT * FROM rest_api__${table}`));
    await store.close();
    expect([left, api.model.requests.length]).toEqual([[[], [], [], []], 1]);
  });

  it.each([
    ['nobody serves', false],
    ['nobody serves, and a chat tells people something after it', true],
  ])('W17 nor does it where the conversation is deleted while %s', async (_, tells) => {
    const asking = gate();
    const only = ['http', 'rest_api'];
    const api = await apiKernel([async () => (await asking.opened, RISK)], { only });
    const { token, path, say } = await conversation(api);
    const first = await say('go', 'k0');
    await upTo(first, isTurn('turn-start'));
    await (await say('and then', 'k1')).next();
    asking.open();
    await upTo(first, isTurn('turn-end'));
    await api.pith.kernel.stop();
    const elsewhere = await testKernel({ sandbox: api.pith.sandbox, only, model: scriptedModel([]) });
    await elsewhere.kernel.agents.deleteThread(path.split('/').at(-1) ?? '');
    const channel = elsewhere.kernel.host.providers.remote('rest_api', ChannelProvider);
    if (tells) await channel!.deliver({ kind: 'weather', text: 'It rains.' }, 'web:ann');
    await elsewhere.kernel.stop();
    await api.restart();
    const store = openStore(`${api.pith.sandbox}/data/pith.db`, systemClock);
    const rows = (table: string) => store.all(`SELECT * FROM ${table}`);
    await until(() => rows('deliveries').length === 0 && rows('rest_api__queued').length === 0);
    expect([rows('threads'), rows('rest_api__keys'), api.model.requests.length]).toEqual([[], [], 1]);
    await store.close();
    expect((await api.request(path, { token })).status).toBe(404);
  });
});
