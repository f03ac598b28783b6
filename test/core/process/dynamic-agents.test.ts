import { fakeClock, scriptedModel, testKernel, type TestKernel } from 'pith/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { main, manifest } from './extension.ts';

let test: TestKernel | undefined;
afterEach(() => test?.stop());

const SPEC = `{ name: 'S', description: '', model: 'default', integrationMode: 'none', instructions: 'BROUGHT', prompt: null, promptFile: null,
  usesTools: ['*'], usesSkills: [], delegatesTo: [], limits: { max_turns: 5, max_tool_calls: 5, max_tokens: 1000, time_budget_ms: 60000 },
  keys: { nobody: 1 }, origin: null, declaredBy: { extensionId: 'kv', ownOnly: false } }`;
const BRINGS = `
  async listAgents(files) {
    const of = (id, more) => ({ id, file: '/somewhere', diagnostics: [], spec: { id, ...${SPEC}, ...more } });
    return [...files.map((file) => ({ ...of('noted', { instructions: file }), file })), of('helper'), of('let_in'), of('greedy', { model: 'stranger/m' }), of('orchestrator'), { id: 'wrong', spec: 'none' }];
  }
  getTools() { return [defineTool({ name: 'own', description: 'd', input: z.object({}), execute: () => 'mine' })]; }`;

const open = async (model = scriptedModel([])): Promise<TestKernel> =>
  (test = await testKernel({
    isolation: 'process',
    model,
    files: {
      'agents/noted/NOTE.md': 'a note',
      'agents/orchestrator/NOTE.md': 'takes nothing',
      ...manifest('stranger', { provides: ['agents', 'tool'], agent_files: ['NOTE.md'], permissions: { agents: ['let_in'] } }),
      ...main('stranger', BRINGS),
    },
  }));

describe('agents that an extension in a separate process brings', () => {
  it('has them beside the declared ones, whose ids it cannot take, and leaves out what is none', async () => {
    const { kernel, sandbox } = await open();
    const found = new Map((await kernel.agents.list()).map((each) => [each.id, each]));
    expect(found.get('helper')).toMatchObject({ state: 'active', spec: { instructions: 'BROUGHT', keys: {}, origin: expect.any(String) } });
    expect(found.get('noted')?.spec?.instructions).toBe(`${sandbox}/agents/noted/NOTE.md`);
    expect(found.get('orchestrator')?.spec?.instructions).not.toBe('BROUGHT');
    expect(found.has('wrong')).toBe(false);
    const notes = kernel.host.extensions.show('stranger')?.notes.map(({ code }) => code);
    expect(notes).toEqual(expect.arrayContaining(['duplicate_id', 'provider_failed']));
  });

  it('T14 gives them the tools of that extension alone, and models by alias, unless a person agrees', async () => {
    const at = await open(scriptedModel([{ text: 'a' }, { text: 'b' }]));
    const offered = async (agent: string) => (await at.run('hello', { agent, threadId: agent })).requests[0]?.tools.map(({ name }) => name);
    expect(await offered('helper')).toEqual(['own']);
    expect(await offered('let_in')).toEqual(expect.arrayContaining(['own', 'file']));
    expect((await at.kernel.agents.toolsOf('helper')).map(({ modelName }) => modelName)).toEqual(['own']);
    expect((await at.run('hello', { agent: 'greedy', threadId: 'greedy' })).error).toMatchObject({ code: 'not_allowed' });
  });
});

it('asks who brings agents once, until something changes or half a minute has passed: one that hangs is not waited for in every turn', async () => {
  const clock = fakeClock();
  const asked = () => (globalThis as { timesAsked?: number }).timesAsked;
  test = await testKernel({
    isolation: 'in_process',
    clock,
    files: {
      ...manifest('bringer', { provides: ['agents'] }),
      ...main('bringer', `async listAgents() { globalThis.timesAsked = (globalThis.timesAsked ?? 0) + 1; return []; }`),
    },
  });
  const { agents, host } = test.kernel;
  await agents.list();
  await agents.list(); // the first one has started it, which is a change
  const before = Number(asked());
  for (let look = 0; look < 3; look++) await agents.list();
  expect(asked()).toBe(before);
  await clock.advance(30_000);
  await agents.list();
  expect(asked()).toBe(before + 1);
  await test.write('extensions/more/manifest.yaml', 'id: more\nagent: { description: d }\n');
  await host.extensions.refresh();
  await agents.list();
  expect(asked()).toBe(before + 2);
});
