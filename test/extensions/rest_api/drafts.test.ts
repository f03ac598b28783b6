import { expect, it } from 'vitest';
import { apiKernel, upTo } from './api-kernel.ts';

const SKILL = '---\nname: merger-plan\ndescription: Plans the merger. Use for the merger.\n---\nBODY\n';

it('W2 W5 a draft that an agent writes for one person is unknown to others, on all routes of skills and in events; they and administrators see it', async () => {
  const write = { name: 'file', input: { action: 'write', path: 'skills/merger-plan/SKILL.md', content: SKILL } };
  const api = await apiKernel([{ calls: [write] }, { text: 'written' }], {
    only: ['http', 'rest_api', 'skill_registry', 'core_tools'],
    files: { 'agents/writer/manifest.yaml': 'id: writer\nagent: { uses_tools: [core_tools] }\n', 'pith.yaml': 'default_agent: writer\n' },
  });
  const [ann, bob, root] = [await api.token({ userId: 'ann' }), await api.token({ userId: 'bob' }), await api.token({ may: 'admin' })];
  const stream = await api.events('/api/events', { token: bob });
  const ready = await stream.next();
  await api.request(`/api/threads/${await api.thread(ann)}/messages`, { method: 'POST', token: ann, json: { text: 'write it down' } });

  const isTold = ({ data }: { readonly data: object }) => 'kind' in data && data.kind === 'skill';
  const told = [
    ...(await upTo(stream, isTold)),
    ...(await upTo(await api.events('/api/events', { token: bob, headers: { 'last-event-id': ready?.id ?? '' } }), isTold)),
  ];
  expect(JSON.stringify(told)).not.toContain('merger-plan');

  const lists = ['/api/skills?all=true', '/api/skills?state=draft', '/api/all-skills/counts?all=true'];
  const [listed, drafts, counts] = lists as [string, string, string];
  const seen = async (path: string, token: string) => (await api.request(path, { token })).text;
  for (const token of [ann, root]) {
    expect(await seen(listed, token)).toContain('merger-plan');
    expect(await seen(drafts, token)).toContain('merger-plan');
    expect(await seen(counts, token)).toContain('"draft"');
    expect(await seen('/api/skills/merger-plan', token)).toContain('BODY');
  }
  for (const path of lists) {
    expect(await seen(path, bob)).not.toContain('merger-plan');
    expect(await seen(path, bob)).not.toContain('draft');
  }
  for (const part of ['', '/resources', '/explain', '/history', '/diff']) {
    const of = async (id: string) => {
      const { status, text } = await api.request(`/api/skills/${id}${part}`, { token: bob });
      return [status, text.replaceAll(id, 'ID')];
    };
    expect([part, ...(await of('merger-plan'))]).toEqual([part, ...(await of('nothing-here'))]);
  }
});
