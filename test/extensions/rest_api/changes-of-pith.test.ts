import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonValue } from 'pith';
import type { ScriptedStep } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { folderWith } from '../../places.ts';
import { apiKernel } from './api-kernel.ts';

const CALLS: ScriptedStep = {
  calls: [
    { name: 'request_reload', input: { extension_id: 'http' } },
    { name: 'configure_extension', input: { extension_id: 'http', values: { origins: ['https://example.org'] } } },
    { name: 'request_restart', input: { reason: 'to end it' } },
    { name: 'file', input: { action: 'write', path: 'agents/mine/manifest.yaml', content: 'id: mine\nagent: {}\n' } },
    { name: 'apply_patch', input: { patch: '--- /dev/null\n+++ b/extensions/mine/main.ts\n@@ -0,0 +1 @@\n+export default 1;\n' } },
    { name: 'file', input: { action: 'write', path: 'notes.md', content: 'mine' } },
  ],
};
const UNKNOWN = { error: { code: 'tool_unknown' } };
const NOT_ALLOWED = { error: { code: 'not_allowed', message: expect.stringContaining('for administrators only') } };
/** The tools by which agents change a Pith. */
const CHANGING = ['configure_extension', 'request_reload', 'request_restart', 'request_secret'];

const served = (script: readonly ScriptedStep[], usesTools = 'uses_tools: [core_tools]', more: Readonly<Record<string, string>> = {}) =>
  apiKernel(script, {
    only: ['http', 'rest_api', 'program_turns', 'openai_api', 'core_tools', 'delegation', 'setup'],
    files: {
      'agents/helper/manifest.yaml': `id: helper\nagent: { ${usesTools}, delegates_to: ["*"] }\n`,
      'agents/worker/manifest.yaml': 'id: worker\nagent: { uses_tools: [core_tools] }\n',
      ...more,
    },
  });
type Served = Awaited<ReturnType<typeof served>>;

/** What the model was told of its calls, the last ones first. */
function resultsIn({ model }: Served, at: number): readonly JsonValue[] {
  const last = model.requests[at]?.messages.at(-1);
  if (last?.role !== 'tool') throw new Error(`not the results of tools: ${JSON.stringify(last)}`);
  return last.content.flatMap((part) => (part.type === 'tool-result' && 'value' in part.output ? [part.output.value as JsonValue] : []));
}

function toolsIn({ model }: Served, at: number): readonly string[] {
  return (model.requests[at]?.tools ?? []).map(({ name }) => name);
}

describe('what the agents of users change of Pith itself', () => {
  it('W5 U11 nothing, though the token may approve: the tools are unknown, no question is asked, and files that run later are refused', async () => {
    const api = await served([CALLS, { text: 'done' }]);
    const token = await api.token({ userId: 'ada', may: 'approve' });
    const id = await api.thread(token);
    const said = await api.request(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text: 'go' } });
    expect(said).toMatchObject({ status: 200, json: { reason: 'done', questions: [] } });
    expect(toolsIn(api, 0)).toEqual(expect.arrayContaining(['file', 'apply_patch']));
    expect(toolsIn(api, 0).filter((name) => CHANGING.includes(name))).toEqual([]);
    const [file, patch, note] = resultsIn(api, 1).slice(3);
    expect(resultsIn(api, 1).slice(0, 3)).toMatchObject([UNKNOWN, UNKNOWN, UNKNOWN]);
    expect([file, patch]).toMatchObject([NOT_ALLOWED, NOT_ALLOWED]);
    expect(note).toContain('notes.md'); // what neither runs nor instructs goes on
    const { sandbox } = api.pith;
    expect(['agents/mine', 'extensions/mine'].map((each) => existsSync(join(sandbox, each)))).toEqual([false, false]);
  });

  it('W5 W20 neither over another interface, nor by find_tools, nor by an agent that theirs calls', async () => {
    const find = { calls: [{ name: 'find_tools', input: { query: 'configure_extension request_reload' } }] };
    const delegate = { calls: [{ name: 'delegate_task', input: { agent_id: 'worker', task: 'reload http' } }] };
    const api = await served(
      [find, delegate, CALLS, { text: 'not done' }, { text: 'done' }],
      'uses_tools: [delegation], finds_tools: [core_tools]',
    );
    const token = await api.token({ userId: 'ada', may: 'approve' });
    const json = { model: 'helper', messages: [{ role: 'user', content: 'go' }] };
    expect(await api.request('/v1/chat/completions', { method: 'POST', token, json })).toMatchObject({ status: 200 });
    expect(toolsIn(api, 1).filter((name) => CHANGING.includes(name))).toEqual([]);
    expect(toolsIn(api, 2)).toContain('file');
    expect(toolsIn(api, 2).filter((name) => CHANGING.includes(name))).toEqual([]);
    expect(resultsIn(api, 3).slice(0, 3)).toMatchObject([UNKNOWN, UNKNOWN, UNKNOWN]);
  });

  it('W5 an administrator is asked as before, by the settings or as the person at the terminal', async () => {
    const change = { calls: [{ name: 'configure_extension', input: { extension_id: 'kv', values: {} } }] };
    const api = await served([change, change], undefined, { 'pith.yaml': 'default_agent: helper\nadmins: [ada]\n' });
    for (const userId of ['ada', 'local']) {
      const token = await api.token({ userId, may: 'approve' });
      const id = await api.thread(token);
      const said = await api.request(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text: 'go' } });
      expect(said.json).toMatchObject({ reason: 'awaiting_approval', questions: [{ tool: 'core_tools/configure_extension' }] });
    }
    expect(toolsIn(api, 1)).toEqual(expect.arrayContaining(CHANGING));
  });
});

describe('always in this project', () => {
  it('W6 W5 is an answer for administrators: a user is not offered it, and cannot give it', async () => {
    const api = await apiKernel(
      Array.from({ length: 3 }, () => ({ calls: [{ name: 'risk', input: {} }] })),
      { home: folderWith() },
    );
    const asked = async (userId: string) => {
      const token = await api.token({ userId, may: 'approve' });
      const id = await api.thread(token);
      await api.request(`/api/threads/${id}/messages`, { method: 'POST', token, json: { text: 'go' } });
      const { json } = await api.request('/api/approvals', { token });
      const [question] = (json as { readonly approvals: readonly { readonly id: string; readonly answers: readonly string[] }[] })
        .approvals;
      return { token, ...question! };
    };
    const ada = await asked('ada');
    expect(ada.answers).toEqual(['once', 'always', 'no']);
    const answer = { method: 'POST', token: ada.token, json: { answer: 'project' } } as const;
    expect(await api.request(`/api/approvals/${ada.id}`, answer)).toMatchObject({ status: 403, json: { error: { code: 'not_allowed' } } });
    expect((await asked('bob')).answers).toEqual(['once', 'always', 'no']);
    expect((await asked('local')).answers).toEqual(['once', 'always', 'project', 'no']);
  });
});
