import type { JsonValue } from 'pith';
import { describe, expect, it } from 'vitest';
import { kernelCommands } from '../../../core/cli/index.ts';
import { kernelOf } from '../../places.ts';
import { apiKernel, upTo, type ApiKernel } from './api-kernel.ts';

/** An extension that tells people what it is told to. */
const files = {
  'extensions/bell/manifest.yaml': '{id: bell, entrypoint: main.ts, provides: [tool], events: {publishes: [notify]}}',
  'extensions/bell/main.ts': `import { defineTool, z } from 'pith';
export default class {
  constructor(context) { this.context = context; }
  getTools() {
    const input = z.object({ text: z.string(), userId: z.string().nullable(), target: z.string().nullable(), about: z.unknown().optional(), threadId: z.string().nullable().optional() });
    const execute = async ({ text, userId, target, about, threadId = null }) => {
      await this.context.events.publish('notify', { v: 1, kind: 'bell', text, userId, target, about, threadId });
      return 'rung';
    };
    return [defineTool({ name: 'ring', description: 'Tells somebody.', input, execute })];
  }
}
`,
  'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [bell] }\n',
};

const ring = (text: string, userId: string | null, target: string | null = null, about: JsonValue = null) => [
  { calls: [{ name: 'ring', input: { text, userId, target, about } }] },
  { text: 'done' },
];

const listed = async (api: ApiKernel, token: string) =>
  ((await api.request('/api/notices', { token })).json as { readonly notices: readonly { readonly id: string; readonly text: string }[] })
    .notices;

const isNotice = ({ data }: { readonly data: Readonly<Record<string, unknown>> }) => data['kind'] === 'notice';

/** Its agent proposes a change of the skill `letters`. */
function proposing(): Promise<ApiKernel> {
  const diff = '--- a/SKILL.md\n+++ b/SKILL.md\n@@ -5 +5,2 @@\n Write it.\n+Sign it.\n';
  const input = { skill_id: 'letters', diff, justification: 'Letters had no name.' };
  return apiKernel([{ calls: [{ name: 'propose_skill_update', input }] }, { text: 'done' }], {
    only: ['http', 'rest_api', 'skill_registry', 'skill_proposals'],
    files: {
      'skills/letters/SKILL.md': '---\nname: letters\ndescription: Write a letter. Use for letters.\n---\nWrite it.\n',
      'agents/helper/manifest.yaml': 'id: helper\nagent: { uses_tools: [skill_registry, skill_proposals] }\n',
    },
  });
}

describe('what people are told outside of conversations', () => {
  it('W5 W16 reaches whom it concerns, waits for them over a restart, and goes when they dismiss it', async () => {
    const api = await apiKernel([...ring('The report is there.', 'ann'), ...ring('For you by name.', null, 'web:ann')], { files });
    const [ann, bob] = [await api.token({ userId: 'ann' }), await api.token({ userId: 'bob' })];
    const stream = await api.events('/api/events', { token: ann });
    await api.pith.run('ring it');
    await upTo(stream, isNotice);
    stream.leave();
    await api.pith.run('ring it by name');
    const again = await api.events('/api/events', { token: ann });
    const texts = async () => (await listed(api, ann)).map(({ text }) => text);
    await expect.poll(texts).toEqual(['For you by name.', 'The report is there.']);
    again.leave();
    expect(await listed(api, bob)).toEqual([]);
    await api.restart();
    const [first, second] = await listed(api, ann);
    const dismiss = (token: string, id = '') => api.request(`/api/notices/${encodeURIComponent(id)}`, { method: 'DELETE', token });
    const [foreign, unknown] = [await dismiss(bob, first?.id), await dismiss(bob, 'nothing')];
    expect([foreign.status, foreign.text.replace(first?.id ?? '-', 'nothing')]).toEqual([404, unknown.text]);
    expect((await dismiss(ann, first?.id)).status).toBe(200);
    expect(await listed(api, ann)).toEqual([second]);
  });

  it('W14 W21 says which thing it tells of, as data; what names none is left out', async () => {
    const run = { kind: 'run', id: 'run-1' };
    const api = await apiKernel([...ring('It ran.', 'ann', null, run), ...ring('Odd.', 'ann', null, 'run-1')], { files });
    const ann = await api.token({ userId: 'ann' });
    const stream = await api.events('/api/events', { token: ann });
    for (const text of ['ring it', 'ring it oddly']) {
      await api.pith.run(text);
      await upTo(stream, isNotice);
    }
    stream.leave();
    expect(await listed(api, ann)).toMatchObject([
      { text: 'Odd.', about: null },
      { text: 'It ran.', about: run },
    ]);
  });

  it('W16 W17 goes with the conversation that it tells of', async () => {
    const api = await apiKernel([], { files });
    const ann = await api.token({ userId: 'ann' });
    const { id } = (await api.request('/api/threads', { method: 'POST', token: ann, json: {} })).json as { readonly id: string };
    const call = { name: 'ring', input: { text: 'It goes on.', userId: 'ann', target: null, about: null, threadId: id } };
    api.model.add({ calls: [call] }, { text: 'done' }, ...ring('Of no conversation.', 'ann'));
    const texts = async () => (await listed(api, ann)).map(({ text }) => text);
    const page = await api.events('/api/events', { token: ann });
    for (const text of ['ring it', 'ring again']) await api.pith.run(text);
    await expect.poll(texts).toEqual(['Of no conversation.', 'It goes on.']);
    expect((await api.request(`/api/threads/${id}`, { method: 'DELETE', token: ann })).status).toBe(204);
    await expect.poll(texts).toEqual(['Of no conversation.']);
    page.leave();
  });

  it('P4 W5 a proposal is told to administrators, who decide, besides the person in whose turn it was made', async () => {
    const api = await proposing();
    const [ann, bob] = [await api.token({ userId: 'ann' }), await api.token({ userId: 'bob' })];
    const roots = [
      await api.token({ userId: 'root', role: 'admin', may: 'admin' }),
      await api.token({ userId: 'root', role: 'admin', may: 'admin' }),
    ];
    const stream = await api.events('/api/events', { token: roots[0] as string });
    await api.pith.run('go on', { userId: 'ann', threadId: 'test' });
    await upTo(stream, isNotice);
    stream.leave();
    const text = expect.stringContaining('proposes a change to the skill letters');
    for (const token of [ann, ...roots]) expect(await listed(api, token)).toMatchObject([{ text }]);
    expect(await listed(api, bob)).toEqual([]);
    const [mine] = await listed(api, roots[0] as string);
    const gone = await api.request(`/api/notices/${encodeURIComponent(mine?.id ?? '')}`, { method: 'DELETE', token: roots[0] as string });
    expect(gone.status).toBe(200);
    expect([(await listed(api, roots[1] as string)).length, (await listed(api, ann)).length]).toEqual([0, 1]);
  });

  it('P4 W16 goes for everybody when what it tells of is decided, also in another process', async () => {
    const api = await proposing();
    const [ann, root] = [await api.token({ userId: 'ann' }), await api.token({ userId: 'root', role: 'admin', may: 'admin' })];
    const stream = await api.events('/api/events', { token: ann });
    await api.pith.run('go on', { userId: 'ann', threadId: 'test' });
    await upTo(stream, isNotice);
    for (const token of [ann, root]) expect(await listed(api, token)).toHaveLength(1);
    const elsewhere = await kernelOf({
      sandbox: api.pith.sandbox,
      only: ['http', 'rest_api', 'skill_registry', 'skill_proposals'],
      commands: kernelCommands,
    });
    const list = await api.events('/api/events', { token: root });
    await elsewhere.command('skills proposals reject letters');
    await upTo(list, ({ data }) => data['kind'] === 'proposal');
    list.leave();
    await upTo(stream, isNotice);
    for (const token of [ann, root]) expect(await listed(api, token)).toEqual([]);
    stream.leave();
  });

  it('W16 goes with the conversation that it tells of', async () => {
    const api = await apiKernel([{ text: 'hi' }, ...ring('It ran.', 'ann', null, { kind: 'thread', id: 'gone' })], { files });
    const ann = await api.token({ userId: 'ann' });
    await api.pith.run('hello', { threadId: 'gone', userId: 'ann' });
    const stream = await api.events('/api/events', { token: ann });
    await api.pith.run('ring it');
    await upTo(stream, isNotice);
    expect((await api.request('/api/threads/gone', { method: 'DELETE', token: ann })).status).toBe(204);
    await upTo(stream, isNotice);
    stream.leave();
    expect(await listed(api, ann)).toEqual([]);
  });

  it('W1 W16 waits for the person at the terminal until a page is open, since a terminal may be next', async () => {
    const api = await apiKernel(ring('Look here.', null), { files });
    const token = await api.token({ userId: 'local', role: 'admin' });
    await api.pith.run('ring it');
    expect(await listed(api, token)).toEqual([]);
    const stream = await api.events('/api/events', { token });
    await upTo(stream, isNotice);
    stream.leave();
    expect(await listed(api, token)).toMatchObject([{ text: 'Look here.', kind: 'bell', threadId: null }]);
  });
});
