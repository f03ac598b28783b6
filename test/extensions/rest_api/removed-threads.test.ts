import { systemClock } from '@pith/promises';
import { scriptedModel, testKernel } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { openStore, type Store } from '../../../core/store/index.ts';
import { until } from '../../waiting.ts';
import { apiKernel, type ApiKernel } from './api-kernel.ts';

const only = ['http', 'rest_api', 'program_turns', 'openai_api', 'ag_ui'];
const BELL = {
  'extensions/bell/manifest.yaml': '{id: bell, entrypoint: main.ts, provides: [tool], events: {publishes: [notify]}}',
  'extensions/bell/main.ts': `import { defineTool, z } from 'pith';
export default class {
  constructor(context) { this.context = context; }
  getTools() {
    const execute = async ({ threadId }) => this.context.events.publish('notify', { v: 1, kind: 'bell', text: 'the words', userId: 'ann', target: 'web:ann', threadId });
    return [defineTool({ name: 'ring', description: 'Tells somebody.', input: z.object({ threadId: z.string() }), execute })];
  }
}
`,
  'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [risky, bell] }\n',
};

/** Rows of extensions that are of the thread, by their tables. */
function rowsOf(store: Store, id: string): ReadonlyMap<string, number> {
  const columns = store.all(`SELECT m.name AS name, c.name AS part FROM sqlite_master m JOIN pragma_table_info(m.name) c
    WHERE m.type = 'table' AND instr(m.name, '__') > 0 AND c.name IN ('thread', 'thread_id') ORDER BY m.name`);
  const counted = columns.map(
    ({ name, part }) =>
      [String(name), Number(store.get(`SELECT count(*) AS count FROM ${String(name)} WHERE ${String(part)} = ?`, id)?.count)] as const,
  );
  return new Map(counted.filter(([, count]) => count > 0));
}

async function inStore<T>(api: ApiKernel, read: (store: Store) => T | Promise<T>): Promise<T> {
  const store = openStore(`${api.pith.sandbox}/data/pith.db`, systemClock);
  try {
    return await read(store);
  } finally {
    await store.close();
  }
}

describe('what the interfaces keep of a conversation that was deleted', () => {
  it('W2 W21 goes with it from every table, whoever deleted it', async () => {
    let id = '';
    const api = await apiKernel(
      [() => ({ calls: [{ name: 'ring', input: { threadId: id } }] }), { text: 'the words' }, { calls: [{ name: 'risk', input: {} }] }],
      { only, files: BELL },
    );
    const token = await api.token({ userId: 'ann', may: 'approve' });
    id = await api.thread(token);
    const page = await api.events('/api/events', { token }); // people are reached here
    await page.next();
    const path = `/api/threads/${id}`;
    await api.request(`${path}/messages`, { method: 'POST', token, json: { text: 'the words', key: 'k' } });
    const headers = { 'idempotency-key': 'once' };
    expect((await api.request(path, { method: 'PATCH', token, headers, json: { title: 'the words' } })).status).toBe(200);
    const asked = { method: 'POST', token, headers: { 'x-pith-thread': id } };
    expect((await api.request('/v1/responses', { ...asked, json: { model: 'helper', input: 'go' } })).status).toBe(200);
    const rows = () => inStore(api, (store) => [...rowsOf(store, id).keys()]);
    await expect
      .poll(rows)
      .toEqual([
        'openai_api__responses',
        'program_turns__waiting',
        ...['answers', 'begun', 'keys', 'notices'].map((name) => `rest_api__${name}`),
      ]);
    const elsewhere = await testKernel({ sandbox: api.pith.sandbox, only, model: scriptedModel([]) });
    await elsewhere.kernel.agents.deleteThread(id);
    await elsewhere.kernel.stop();
    await expect.poll(rows).toEqual([]);
    const texts = await inStore(api, (store) =>
      store
        .all("SELECT name FROM sqlite_master WHERE type = 'table' AND instr(name, '__') > 0")
        .map(({ name }) => store.all(`SELECT * FROM ${String(name)}`)),
    );
    expect(JSON.stringify(texts)).not.toContain('the words');
  });

  it('W21 a deletion that is heard of late takes nothing of a conversation that was begun again under the id', async () => {
    const api = await apiKernel([{ text: 'one' }, { text: 'two' }, { text: 'hello' }], { only });
    const id = 'named-by-a-client';
    const elsewhere = await testKernel({ sandbox: api.pith.sandbox, only, model: scriptedModel([{ text: 'old' }, { text: 'begun' }]) });
    await elsewhere.run('go', { agent: 'helper', threadId: id, userId: 'ann' });
    const keep = (when: number, name: string) =>
      inStore(api, (store) =>
        store.write((statement) => {
          const asked = JSON.stringify({ agent: 'helper', threadId: id, userId: 'ann', input: name, key: name });
          if (name === 'new')
            statement(
              'INSERT INTO rest_api__queued (thread, key, asked, user_id, resumes, at) VALUES (?, ?, ?, ?, 0, ?)',
              id,
              name,
              asked,
              'ann',
              when,
            );
          statement('INSERT INTO rest_api__keys VALUES (?, ?, ?, ?)', id, name, name, when);
          statement('INSERT INTO rest_api__notices VALUES (?, ?, ?, ?, ?, ?, NULL)', name, when, 'ann', 'bell', name, id);
          statement('INSERT INTO openai_api__responses VALUES (?, ?, ?, ?, ?, NULL)', name, 'ann', id, '{}', when);
          statement('INSERT OR REPLACE INTO program_turns__waiting VALUES (?, ?, ?, ?)', id, name, name, when);
        }),
      );
    const token = await api.token({ userId: 'ann' });
    await api.request(`/api/notices`, { token }); // makes the tables
    const hello = { model: 'helper', messages: [{ role: 'user', content: 'x' }] };
    const say = (headers: Record<string, string>) => api.request('/v1/chat/completions', { method: 'POST', token, headers, json: hello });
    await say({ 'x-pith-thread': (await say({})).headers['x-pith-thread'] ?? '' });
    await api.request('/v1/responses/none', { token });
    await api.pith.kernel.stop();
    await keep(systemClock.now(), 'old');
    await elsewhere.kernel.agents.deleteThread(id);
    const removed = await inStore(
      api,
      (store) => JSON.parse(String(store.get("SELECT payload FROM events WHERE topic = 'thread.removed'")?.payload)) as { at: number },
    );
    await elsewhere.run('again', { agent: 'helper', threadId: id, userId: 'ann' });
    await keep(removed.at + 1, 'new');
    await elsewhere.kernel.stop();
    await api.restart();
    await until(() => inStore(api, (store) => store.get('SELECT 1 FROM deliveries') === null));
    const left = await inStore(api, (store) => [
      ...store.all('SELECT key FROM rest_api__keys WHERE thread = ?', id),
      ...store.all('SELECT id AS key FROM rest_api__notices WHERE thread = ?', id),
      ...store.all('SELECT id AS key FROM openai_api__responses WHERE thread_id = ?', id),
      ...store.all('SELECT key FROM program_turns__waiting WHERE thread = ?', id),
    ]);
    expect(left.map(({ key }) => key)).toEqual(['new', 'new', 'new', 'new']);
    await until(async () => ((await api.request(`/api/threads/${id}`, { token })).json as { messages?: unknown[] }).messages?.length === 4);
    const { json } = await api.request(`/api/threads/${id}`, { token });
    expect(json).toMatchObject({ messages: [{ text: 'again' }, { text: 'begun' }, { text: 'new' }, { text: 'hello' }] });
  });
});
