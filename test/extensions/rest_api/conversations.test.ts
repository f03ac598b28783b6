import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { PithError } from 'pith';
import { fakeClock } from 'pith/testing';
import { gate, passed, until } from '../../waiting.ts';
import { apiKernel, isTurn, upTo } from './api-kernel.ts';

const HAS_PROGRAMS = ['bash', 'curl', 'sed'].every((program) => spawnSync(program, ['--version']).error === undefined);

describe('conversations over HTTP', () => {
  it('W2 W21 says something, answers with what came of it, lists, renames, exports, branches and deletes', async () => {
    const api = await apiKernel([{ text: 'Hello Ann' }, { text: 'Again' }]);
    const token = await api.token({ userId: 'ann' });
    const id = await api.thread(token);
    const say = (text: string, to = id) => api.request(`/api/threads/${to}/messages`, { method: 'POST', token, json: { text } });
    expect((await api.request(`/api/threads/${id}`, { token })).json).toMatchObject({
      thread: { id, agentId: null },
      messages: [],
      live: null,
    });
    expect(await say('Hello')).toMatchObject({
      status: 200,
      json: { thread: id, reason: 'done', text: 'Hello Ann', error: null, questions: [] },
    });
    const shown = await api.request(`/api/threads/${id}`, { token });
    expect(shown.json).toMatchObject({
      thread: { id, userId: 'ann', agentId: 'helper', title: 'Hello', state: 'idle' },
      messages: [
        { role: 'user', text: 'Hello' },
        { role: 'assistant', text: 'Hello Ann' },
      ],
    });
    const older = async (query: string) => (await api.request(`/api/threads/${id}?${query}`, { token })).json;
    expect(await Promise.all(['limit=1', 'limit=1&before=2', 'limit=2', 'after=1'].map(older))).toMatchObject(
      [true, false, false, true].map((is) => ({ older: is })),
    );
    const rename = (title: string, match: string) =>
      api.request(`/api/threads/${id}`, { method: 'PATCH', token, json: { title }, headers: { 'if-match': match } });
    expect((await rename('Another', '"older"')).status).toBe(412);
    const tag = shown.headers['etag'] ?? '';
    const both = await Promise.all([rename('Another', tag), rename('Another', tag)]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 412]);
    const renamed = both.find(({ status }) => status === 200)!;
    expect(renamed).toMatchObject({ json: { thread: { title: 'Another' } } });
    expect(renamed.headers['etag']).not.toBe(shown.headers['etag']);
    expect((await api.request(`/api/threads/${id}/export`, { token })).text).toContain('# Another');
    expect((await api.request(`/api/threads/${id}/export?format=json`, { token })).json).toMatchObject({ id, messages: [{}, {}] });
    const branch = await api.request(`/api/threads/${id}/branch`, { method: 'POST', token, json: { before: 1 } });
    expect(branch).toMatchObject({ status: 201, json: { id: `${id}.2`, text: 'Hello' } });
    expect(await say('Hello?', `${id}.2`)).toMatchObject({ json: { text: 'Again' } });
    const list = await api.request('/api/threads?text=hel', { token });
    expect(list.json).toMatchObject({ threads: [], cursor: null });
    const first = (await api.request('/api/threads?limit=1', { token })).json as { threads: { id: string }[]; cursor: string };
    const rest = (await api.request(`/api/threads?limit=1&cursor=${encodeURIComponent(first.cursor)}`, { token })).json as typeof first;
    expect([...first.threads, ...rest.threads].map((thread) => thread.id)).toEqual([`${id}.2`, id]);
    expect(await api.request(`/api/threads/${id}`, { method: 'DELETE', token })).toMatchObject({ status: 204, text: '' });
    expect((await api.request(`/api/threads/${id}`, { token })).status).toBe(404);
  });

  it('W3 names folders in place of paths of the machine in what it exports, and gives a person their own words back as they were', async () => {
    const api = await apiKernel([{ calls: [{ name: 'act', input: {} }] }, { text: 'Done.' }]);
    const { sandbox } = api.pith;
    const token = await api.token();
    const id = await api.thread(token);
    const text = `Look at ${sandbox}/notes.md`;
    await api.request(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text } });
    for (const path of ['export', 'export?format=json', 'trace', 'usage']) {
      const answer = await api.request(`/api/threads/${id}/${path}`, { token });
      const isNamed = answer.text.includes('Look at sandbox/notes.md');
      expect([path, answer.status, answer.text.includes(sandbox), isNamed]).toEqual([path, 200, false, path.startsWith('export')]);
    }
    const branch = await api.request(`/api/threads/${id}/branch`, { method: 'POST', token, json: { before: 1 } });
    expect(branch.json).toMatchObject({ text });
  });

  it('W32 says what a conversation has used, and what its turns did, without reading its messages', async () => {
    const api = await apiKernel([{ text: 'Hello', usage: { inputTokens: 7, outputTokens: 3 } }]);
    const token = await api.token();
    const id = await api.thread(token);
    await api.request(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text: 'Hi' } });
    const reads = [vi.spyOn(api.pith.kernel.threads, 'load'), vi.spyOn(api.pith.kernel.threads, 'inspect')];
    const { json } = await api.request(`/api/threads/${id}/usage`, { token });
    expect(json).toMatchObject({ model: null, effort: null, used: [{ inputTokens: 7, outputTokens: 3 }] });
    expect((await api.request(`/api/threads/${id}/trace`, { token })).status).toBe(200);
    for (const read of reads) expect(read).not.toHaveBeenCalled();
  });

  it('W17 W21 says of a conversation how its last turn ended without an answer, over a restart and until the next answer', async () => {
    const api = await apiKernel([{ error: new PithError('model_failed', 'the model is away', { cure: 'wait' }) }, { text: 'Here.' }]);
    const token = await api.token();
    const id = await api.thread(token);
    const say = (text: string) => api.request(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text } });
    const end = async () => ((await api.request(`/api/threads/${id}`, { token })).json as { readonly end: unknown }).end;
    expect(await end()).toBeNull();
    const { turn } = (await say('Are you there?')).json as { readonly turn: string };
    const failed = { turn, reason: 'error', error: { code: 'model_failed', message: 'the model is away; wait', cure: 'wait' } };
    expect(await end()).toEqual(failed);
    await until(async () => /web.*the model is away.*a turn failed/u.test(await api.log()));
    await api.restart();
    expect(await end()).toEqual(failed);
    await say('And now?');
    expect(await end()).toBeNull();
  });

  it.skipIf(!HAS_PROGRAMS)('W21 the example of the page talks, with bash and curl (needs bash, curl and sed)', async () => {
    const api = await apiKernel([{ text: 'Hello from the page' }]);
    const page = readFileSync('docs/programs.md', 'utf8');
    const [, example = ''] = /```console\n(url=[\s\S]*?)```/u.exec(page) ?? [];
    const script = example.replace('http://127.0.0.1:7484', `http://127.0.0.1:${await api.port()}`);
    const env = { ...process.env, TOKEN: await api.token({ userId: 'ann' }) };
    const { stdout } = await promisify(execFile)('bash', ['-c', script], { env });
    expect(JSON.parse(stdout)).toMatchObject({ reason: 'done', text: 'Hello from the page' });
  });

  it('W17 a turn belongs to the server: who leaves does not end it, who comes later sees its open step, and a second message waits', async () => {
    const [first, second] = [gate(), gate()];
    const api = await apiKernel([
      async () => (await first.opened, { text: ['one ', 'two '], calls: [{ name: 'act', input: {} }] }),
      async () => (await second.opened, { text: 'the end' }),
      { text: 'the second answer' },
    ]);
    const token = await api.token({ userId: 'ann' });
    const id = await api.thread(token);
    const all = await api.events('/api/events', { token });
    const say = (text: string) => api.events(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text } });
    const watcher = await say('go');
    expect((await upTo(watcher, isTurn('turn-start'))).map(({ event }) => event)).toEqual(['open', 'turn']);
    watcher.leave();
    first.open();
    await upTo(all, isTurn('step-end'));
    const waiting = await say('and then');
    expect(await waiting.next()).toMatchObject({ event: 'open', data: { thread: id, state: 'queued', events: [] } });
    const { json } = await api.request(`/api/threads/${id}`, { token });
    expect(json).toMatchObject({
      thread: { state: 'running' },
      messages: [
        { role: 'user', text: 'go' },
        { role: 'assistant', text: 'one two ', calls: [{ name: 'act' }] },
        { role: 'tool', results: [{ name: 'act', output: 'did act' }] },
      ],
      live: { state: 'running', events: [], waiting: 1 },
    });
    second.open();
    const answered = await upTo(waiting, isTurn('turn-end'));
    expect(answered.at(-1)).toMatchObject({ data: { event: { reason: 'done', text: 'the second answer' } } });
    expect(await waiting.next()).toBeNull();
    const { messages } = (await api.request(`/api/threads/${id}`, { token })).json as { messages: { text: string }[] };
    expect(messages.map(({ text }) => text)).toEqual(['go', 'one two ', '', 'the end', 'and then', 'the second answer']);
  });

  it('W17 a message that waits for its turn is said once, also where the server ends before', async () => {
    const api = await apiKernel([
      { text: ['so '], hang: true },
      { text: 'so it is' },
      { text: 'the second answer' },
      { text: 'the third' },
    ]);
    const token = await api.token({ userId: 'ann' });
    const id = await api.thread(token);
    const say = (text: string, key?: string) =>
      api.events(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text, ...(key === undefined ? {} : { key }) } });
    await upTo(await say('go'), isTurn('turn-start'));
    for (const [text, key] of [['and then'], ['and last', 'k1'], ['and last', 'k1']] as const)
      expect(await (await say(text, key)).next()).toMatchObject({ event: 'open', data: { state: 'queued' } });
    const said = async () => {
      const { messages } = (await api.request(`/api/threads/${id}`, { token })).json as { messages: { role: string; text: string }[] };
      return messages.flatMap(({ role, text }) => (role === 'user' ? [text] : []));
    };
    expect(await said()).toEqual(['go']);
    await api.restart();
    await until(async () => api.model.requests.length === 4);
    const idle = async () => ((await api.request(`/api/threads/${id}`, { token })).json as { live: unknown }).live === null;
    await until(idle);
    expect(await said()).toEqual(['go', 'and then', 'and last']);
    await api.restart(); // nothing waits any more
    await until(idle);
    expect([await said(), api.model.requests.length]).toEqual([['go', 'and then', 'and last'], 4]);
  });

  it('W17 draws the open step again: what is said so far, once', async () => {
    const api = await apiKernel([{ text: ['so ', 'far'], hang: true }]);
    const token = await api.token({ userId: 'ann' });
    const id = await api.thread(token);
    const watcher = await api.events(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text: 'go' } });
    await upTo(watcher, ({ data }) => JSON.stringify(data).includes('"text":"far"'));
    const { json } = await api.request(`/api/threads/${id}`, { token });
    expect(json).toMatchObject({
      messages: [{ role: 'user', text: 'go' }],
      live: { n: 3, events: [{ type: 'turn-start' }, { type: 'text-delta', text: 'so far' }] },
    });
    const stop = () => api.request(`/api/threads/${id}/stop`, { method: 'POST', token, json: {} });
    expect((await api.request(`/api/threads/${id}`, { method: 'DELETE', token })).status).toBe(409);
    expect((await stop()).json).toEqual({ state: 'stopped' });
    expect((await upTo(watcher, isTurn('turn-end'))).at(-1)).toMatchObject({ data: { event: { reason: 'aborted' } } });
    expect((await stop()).json).toEqual({ state: 'idle' });
  });

  it('W17 W21 a message with a key is one turn, and a change with an Idempotency-Key is made once', async () => {
    const api = await apiKernel([{ text: 'once' }]);
    const token = await api.token({ userId: 'ann' });
    const once = { 'idempotency-key': 'k1' };
    const begin = () => api.request('/api/threads', { method: 'POST', token, json: {}, headers: once });
    const [first, second] = await Promise.all([begin(), begin()]);
    expect(second.text).toBe(first.text);
    const { id } = first.json as { id: string };
    const say = () => api.request(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text: 'go' }, headers: once });
    const answers = await Promise.all([say(), say()]);
    expect([...answers, await say()].map(({ json }) => json)).toMatchObject(
      Array.from({ length: 3 }, () => ({ reason: 'done', text: 'once' })),
    );
    expect((await api.request(`/api/threads/${id}/stop`, { method: 'POST', token, json: {}, headers: once })).status).toBe(422);
    const other = await api.token({ userId: 'bob' });
    const theirs = await api.request('/api/threads', { method: 'POST', token: other, json: {}, headers: once });
    expect(theirs.status === 201 && theirs.text !== first.text).toBe(true);
  });

  it('W6 a turn that asks ends normally; a chat token cannot answer, one that may approve goes on, and nothing that was done is done again', async () => {
    const api = await apiKernel([
      {
        calls: [
          { name: 'act', input: {} },
          { name: 'risk', input: {} },
        ],
      },
      { text: 'finished' },
    ]);
    const [token, approver] = [await api.token({ userId: 'ann' }), await api.token({ userId: 'ann', may: 'approve' })];
    const id = await api.thread(token);
    const asked = await api.request(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text: 'go' } });
    expect(asked.json).toMatchObject({ reason: 'awaiting_approval', questions: [{ tool: 'risky/risk', threadId: id, answered: null }] });
    const { approvals } = (await api.request('/api/approvals', { token })).json as { approvals: { id: string }[] };
    const question = `/api/approvals/${approvals[0]?.id}`;
    const answer = (with_: string) => api.request(question, { method: 'POST', token: with_, json: { answer: 'once' } });
    expect((await answer(token)).status).toBe(403);
    expect((await api.request(question, { token })).json).toMatchObject({ approval: { answered: null } });
    expect(await answer(approver)).toMatchObject({
      status: 200,
      json: { continues: true, approval: { answered: { answer: 'once', by: 'ann' } } },
    });
    const last = await until(async () => {
      const { json } = await api.request(`/api/threads/${id}`, { token });
      return (json as { thread: { state: string } }).thread.state === 'idle' && json;
    });
    expect(last).toMatchObject({ messages: [{}, {}, { results: [{ output: 'did act' }, { output: 'did risk' }] }, { text: 'finished' }] });
    expect((await answer(approver)).status).toBe(409);
  });

  it.each(['continue', 'messages'] as const)(
    'W6 behind an answer with which nobody went on, POST %s goes on with the turn, and repeats no finished tool',
    async (what) => {
      const isMessage = what === 'messages';
      const clock = fakeClock(Date.now());
      const calls = ['act', 'risk'].map((name) => ({ name, input: {} }));
      const api = await apiKernel([{ calls }, { text: 'finished' }, ...(isMessage ? [{ text: 'and more' }] : [])], { clock });
      const token = await api.token({ userId: 'ann' });
      const id = await api.thread(token);
      const ask = async (to: string, json: object) =>
        (await api.request(`/api/threads/${id}/${to}`, { method: 'POST', token, json: { ...json } })).json as Record<string, unknown>;
      const { questions } = await ask('messages', { text: 'go' });
      const [question] = questions as readonly { readonly id: string }[];
      await api.pith.kernel.approvals.answer(question?.id ?? '', { answer: 'once', by: 'ann' });
      const answer = await passed(clock, ask(what, isMessage ? { text: 'and then' } : {}));
      expect(answer).toMatchObject({ reason: 'done', text: isMessage ? 'and more' : 'finished' });
      const { messages } = (await api.request(`/api/threads/${id}`, { token })).json as { messages: { text: string }[] };
      expect(messages.map(({ text }) => text)).toEqual(['go', '', '', 'finished', ...(isMessage ? ['and then', 'and more'] : [])]);
      const sent = JSON.stringify(api.model.requests.at(-1)?.messages);
      expect(['did act', 'did risk'].map((text) => sent.split(text).length - 1)).toEqual([1, 1]);
    },
  );

  it('W21 a conversation is shortened, and goes on behind what it was', async () => {
    const long = `Begin ${'word '.repeat(3000)}`;
    const api = await apiKernel([{ text: long }, { text: 'The newest.' }, { text: 'A short account.' }, { text: 'Yes.' }], {
      only: ['http', 'rest_api', 'compaction'],
    });
    const token = await api.token({ userId: 'ann' });
    const id = await api.thread(token);
    const post = (to: string, json: object, as = token) =>
      api.request(`/api/threads/${id}/${to}`, { method: 'POST', token: as, json: { ...json } });
    for (const text of [long, 'And now?']) expect((await post('messages', { text })).status).toBe(200);
    expect((await post('compact', {}, await api.token({ userId: 'bob' }))).status).toBe(404);
    const { tokensBefore, tokensAfter } = (await post('compact', {})).json as { tokensBefore: number; tokensAfter: number };
    expect(tokensAfter).toBeLessThan(tokensBefore / 2);
    expect((await post('messages', { text: 'Are you there?' })).json).toMatchObject({ text: 'Yes.' });
    const sent = JSON.stringify(api.model.requests.at(-1)?.messages);
    expect([sent.includes('word word'), sent.includes('A short account.')]).toEqual([false, true]);
    const { messages } = (await api.request(`/api/threads/${id}`, { token })).json as { messages: { role: string }[] };
    expect(messages.map(({ role }) => role)).toContain('summary');
  });

  it('W21 open questions come in pages, oldest first, also when one of a page is answered meanwhile', async () => {
    const api = await apiKernel([...Array.from({ length: 5 }, () => ({ calls: [{ name: 'risk', input: {} }] })), { text: 'refused' }]);
    const token = await api.token({ userId: 'ann', may: 'approve' });
    const asked: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      const id = await api.thread(token);
      const { json } = await api.request(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text: 'go' } });
      asked.push((json as { questions: { id: string }[] }).questions[0]?.id ?? '');
    }
    type Page = { approvals: { id: string }[]; cursor: string | null };
    const page = async (cursor: string | null) =>
      (await api.request(`/api/approvals?limit=2${cursor === null ? '' : `&cursor=${cursor}`}`, { token })).json as Page;
    const first = await page(null);
    await api.request(`/api/approvals/${first.approvals[1]?.id}`, { method: 'POST', token, json: { answer: 'no' } });
    await until(async () => api.model.requests.length === 6); // the turn goes on
    const second = await page(first.cursor);
    const third = await page(second.cursor);
    expect([first, second, third].map(({ approvals }) => approvals.length)).toEqual([2, 2, 1]);
    expect([first, second, third].flatMap(({ approvals }) => approvals.map(({ id }) => id)).sort()).toEqual(asked.toSorted());
    expect(third.cursor).toBeNull();
    expect((await api.request('/api/approvals?limit=201', { token })).status).toBe(400);
  });
});
