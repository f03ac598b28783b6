import { describe, expect, it } from 'vitest';
import { agent, call, lastResult, skillKernel, skill, toolsOf } from '../skill-kernel.ts';

const file = (id: string, frontmatter: string) => ({
  [`agents/${id}/AGENT.md`]: `---\nname: ${id}\nprovider: scripted\nmodel: scripted\n${frontmatter}---\nYou are ${id}.\n`,
});

describe('K40 an AGENT.md and its skills', () => {
  it('K40 S61 S60 allow_skills selects the one tool; absent or false, there are none', async () => {
    const { turn, pith } = await skillKernel(
      {
        ...skill('alpha'),
        ...file('open', 'allow_skills: true\nuses_tools: []\n'),
        ...file('core', 'allow_skills: true\n'),
        ...file('shut', 'allow_skills: false\nuses_tools: []\n'),
        ...file('silent', 'uses_tools: []\n'),
      },
      { only: ['agent_files', 'core_tools', 'skill_registry'] },
    );
    const open = await turn('open', 'hello', call('skill', { skill_name: 'alpha' }));
    expect(toolsOf(open)).toEqual(['skill', 'read_skill_resource']);
    expect(open.requests[0]!.system).toBe('You are open.');
    expect(lastResult(open)).toContain('BODY-OF-alpha');
    expect(toolsOf(await turn('core', 'hello'))).toEqual(expect.arrayContaining(['file', 'skill', 'read_skill_resource']));
    for (const id of ['shut', 'silent']) {
      const outcome = await turn(id, 'hello');
      expect(toolsOf(outcome), id).toEqual([]);
      expect(outcome.requests[0]!.system, id).toBe(`You are ${id}.`);
    }
    for (const id of ['open', 'shut']) expect(await pith.kernel.agents.resolve(id), id).toMatchObject({ state: 'active', notes: [] });
  });

  it('K40 uses_skills beside allow_skills stands in the instructions and not in the list', async () => {
    const { turn } = await skillKernel({
      ...skill('alpha'),
      ...skill('beta'),
      ...file('open', 'allow_skills: true\nuses_skills: [beta]\n'),
    });
    const { requests } = await turn('open', 'hello');
    expect(requests[0]!.system).toContain('BODY-OF-beta');
    expect(requests[0]!.tools.find(({ name }) => name === 'skill')!.inputSchema).toMatchObject({
      properties: { skill_name: { enum: ['alpha'] } },
    });
  });
});

describe('S60 the mode none', () => {
  it('S60 offers nothing and brings nothing; what an agent carries can still be read by the tools that it names', async () => {
    const { turn } = await skillKernel({
      ...skill('alpha'),
      ...skill('beta'),
      ...agent('none', 'skills: { mode: none }'),
      ...agent('tools', 'uses_tools: [skill_registry]', 'uses_skills: [beta]', 'skills: { mode: none }'),
    });
    const none = await turn('none', 'hello');
    expect(toolsOf(none)).toEqual([]);
    expect(none.requests[0]!.system).not.toContain('alpha');
    const tools = await turn('tools', 'hello', call('read_skill', { skill_id: 'alpha' }), call('list_skills', {}));
    expect(toolsOf(tools)).toEqual(['list_skills', 'read_skill', 'read_skill_resource']);
    expect(tools.requests[0]!.system).not.toContain('[Available Skills]');
    expect(tools.results).toMatchObject([{ error: { code: 'skill_not_found' } }, { output: expect.stringContaining('Skills 1–1 of 1') }]);
  });
});
