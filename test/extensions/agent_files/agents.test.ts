import { scriptedModel, testKernel, type TestKernel, type TestKernelOptions } from 'pith/testing';
import { afterEach, describe, expect, it } from 'vitest';

let test: TestKernel | undefined;
afterEach(() => test?.stop());

const open = async (options: TestKernelOptions): Promise<TestKernel> => (test = await testKernel(options));
const file = (id: string, text: string) => ({ [`agents/${id}/AGENT.md`]: `---\nname: ${id}\n${text}` });
const stateOf = ({ kernel }: TestKernel) => kernel.host.extensions.state('agent_files');

describe('agents of AGENT.md in a kernel', () => {
  it('K40 one answers as the default agent, and an edit of its file is visible on the next turn', async () => {
    const model = scriptedModel([{ text: 'a' }, { text: 'b' }]);
    const at = await open({
      model,
      files: { ...file('writer', 'uses_tools: []\n---\nWRITER-ONE'), 'pith.yaml': 'default_agent: writer\n' },
    });
    expect(stateOf(at)).toBe('idle');
    expect((await at.run('hello')).requests[0]?.system).toBe('WRITER-ONE');
    await at.write('agents/writer/AGENT.md', '---\nname: W\nuses_tools: []\n---\nWRITER-TWO');
    await at.kernel.host.extensions.refresh();
    expect((await at.run('hello')).requests[0]?.system).toBe('WRITER-TWO');
    expect(at.kernel.findings()).toEqual([]);
  });

  it('K40 K44 a broken one fails with file and line, is known by its name and costs no other agent anything', async () => {
    const at = await open({
      files: {
        ...file('odd', 'limits: { colour: 3 }\n---\n'),
        ...file('fine', 'uses_tools: [core_tols]\n---\nYou help.'),
        'agents/bad name/AGENT.md': '---\nname: B\n---\n',
        'agents/boss/manifest.yaml': 'id: boss\nagent: { delegates_to: [fine, odd, fin] }\n',
      },
    });
    const found = new Map((await at.kernel.agents.list()).map((each) => [each.id, each]));
    expect(found.get('odd')).toMatchObject({ state: 'failed', notes: [{ code: 'unknown_key', line: 3 }] });
    expect(found.get('fine')).toMatchObject({ state: 'degraded', notes: [{ line: 3, message: expect.stringContaining("'core_tools'") }] });
    expect(found.get('bad name')).toMatchObject({ state: 'failed', notes: [{ cure: expect.stringContaining('rename') }] });
    expect(found.get('boss')?.notes).toMatchObject([
      { code: 'agent_failed', message: expect.stringContaining("'odd'") },
      { code: 'name_unknown', message: expect.stringContaining("did you mean 'fine'") },
    ]);
    await expect(at.kernel.agents.resolve('fnie')).rejects.toMatchObject({ message: expect.stringContaining("did you mean 'fine'") });
  });

  it('C1 without such a file, and for agents of manifests, the reader is not loaded', async () => {
    const main = 'id: main\nagent: { delegates_to: ["*"] }\n';
    const at = await open({ files: { 'agents/main/manifest.yaml': main } });
    await at.kernel.agents.list();
    expect(stateOf(at)).toBe('idle');
    await at.write('agents/other/AGENT.md', '---\nname: O\n---\n');
    await at.kernel.host.extensions.refresh();
    await at.kernel.agents.resolve('orchestrator');
    expect((await at.kernel.agents.resolve('other')).spec.usesTools).toEqual(['core_tools']);
    expect(stateOf(at)).toBe('active');
  });

  it('K40 its defaults are settings, one in a sandbox stands in the place of a shipped agent, and switched off it says so', async () => {
    const files = { ...file('orchestrator', '---\nMINE'), 'pith.yaml': 'extensions: { agent_files: { default_tools: [kv] } }\n' };
    const at = await open({ files });
    expect((await at.kernel.agents.resolve('orchestrator')).spec).toMatchObject({ instructions: 'MINE', usesTools: ['kv'] });
    await at.write('pith.yaml', 'extensions: { agent_files: { enabled: false } }\n');
    await at.kernel.host.extensions.refresh();
    const message = expect.stringContaining("'agent_files', which reads it, made no agent of it");
    await expect(at.kernel.agents.resolve('orchestrator')).rejects.toMatchObject({ code: 'agent_failed', message });
  });
});
