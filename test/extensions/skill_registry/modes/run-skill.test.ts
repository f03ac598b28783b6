import { describe, expect, it } from 'vitest';
import { allowedTools } from '../../../../sandbox/extensions/skill_registry/modes/allowed-tools.ts';
import { agent, call, lastResult, skillKernel, skill, toolsOf } from '../skill-kernel.ts';

const run = (skill_id: string, task = 'the task') => call('run_skill', { skill_id, task });

const hands = {
  'extensions/hands/manifest.yaml': 'id: hands\nentrypoint: main.ts\nprovides: [tool]\n',
  'extensions/hands/main.ts': `
import { defineTool, z } from 'pith';
const tool = (name, needsApproval) => defineTool({ name, needsApproval, description: name, input: z.object({}), execute: () => name + ' was done' });
export default class { getTools() { return [tool('take', false), tool('give', false), tool('risk', true)]; } }
`,
};
const MAIN = agent('main', 'uses_tools: [hands, skill_registry/read_skill, skill_registry/read_skill_resource, skill_registry/run_skill]');

describe('S71 which tools a skill is allowed', () => {
  const tools = ['hands/take', 'hands/give', 'mcp/files_read_all', 'core_tools/file', 'toolset:hello/greet'];

  it.each([
    [null, tools],
    [[], []],
    [['hello__greet'], ['toolset:hello/greet']],
    [['take'], ['hands/take']],
    [['hands/give'], ['hands/give']],
    [['hands'], ['hands/take', 'hands/give']],
    [['mcp__files__read.all'], ['mcp/files_read_all']],
    [['greet', 'toolset:hello'], ['toolset:hello/greet']],
    [['Take', 'Bash'], []],
    [['file(read:*)', 'take(*)'], []],
  ])('S71 %j', (entries, granted) => {
    expect(allowedTools(entries, tools).granted).toEqual(granted);
  });

  it('S71 says which names and patterns come to nothing', () => {
    expect(allowedTools(['take', 'Read', 'Bash(git:*)'], tools)).toMatchObject({ missing: ['Read'], patterns: ['Bash(git:*)'] });
  });
});

describe.each([{ wire: false }, { wire: true }])('S71 run_skill (%o)', ({ wire }) => {
  it('S71 runs the skill in a separate turn: its body for instructions, allowed-tools ∩ the agent’s for tools, and no other can be called', async () => {
    const worker = skill('worker', { more: 'allowed-tools: take, risk_not_there, Bash(git:*)\n', body: 'WORK {{ by }} $& THIS\n' });
    const { turn } = await skillKernel({ ...hands, ...worker, ...MAIN }, { wire });
    const outcome = await turn('main', 'please', run('worker', 'Move it.'), call('give', {}), call('take', {}), { text: 'It was moved.' });
    const [first, child, denied, taken, last] = outcome.requests;
    expect(first!.tools.map(({ name }) => name)).toContain('run_skill');
    expect(child!.system).toContain('WORK {{ by }} $& THIS\n');
    expect(child!.tools.map(({ name }) => name)).toEqual(['take']);
    expect(child!.messages).toEqual([{ role: 'user', content: [{ type: 'text', text: 'Move it.' }] }]);
    expect(JSON.stringify(denied!.messages.at(-1))).toContain('tool_unknown');
    expect(JSON.stringify(taken!.messages.at(-1))).toContain('take was done');
    expect(last!.messages).toHaveLength(3); // what the skill did stands in its own thread
    expect(JSON.parse(lastResult(outcome))).toMatchObject({
      skill: 'worker',
      reason: 'done',
      text: 'It was moved.',
      allowed_but_not_there: ['risk_not_there', 'Bash(git:*)'],
    });
    expect(outcome.results.at(-1)).toMatchObject({ name: 'run_skill', line: 'Skill worker run: done', metadata: { skill_id: 'worker' } });
  });
});

const own = (id: string, more = '') => ({
  ...skill(id, { more: `toolsets: ["toolsets/own:list"]\n${more}` }),
  [`skills/${id}/toolsets/own.ts`]: `import { defineTool, z } from 'pith';
const tool = (name) => defineTool({ name, description: name, input: z.object({}), effect: 'read', execute: () => name + ' was done' });
export const list = [tool('mine'), tool('other')];
`,
});

describe('S70 S71 run_skill and the tools of the skill’s own toolset', () => {
  it('S71 S70 has them where allowed-tools is absent or names them; what is written and names nothing allows nothing', async () => {
    const all = ['take', 'give', 'risk', 'read_skill', 'read_skill_resource', 'mine', 'other'];
    const cases: readonly (readonly [id: string, more: string, tools: readonly string[], missing?: readonly string[]])[] = [
      ['free', '', all],
      ['named', 'allowed-tools: [mine, take, Read]\n', ['take', 'mine'], ['Read']],
      ['clash', 'allowed-tools: [clash__other]\n', ['other']],
      ['none', 'allowed-tools: []\n', []],
      ['odd', 'allowed-tools: [{ name: mine }]\n', []],
    ];
    const skills = Object.assign({}, ...cases.map(([id, more]) => own(id, more))) as Record<string, string>;
    const { turn } = await skillKernel({ ...hands, ...skills, ...MAIN });
    for (const [id, , tools, missing] of cases) {
      const outcome = await turn('main', 'please', run(id), { text: 'ok' });
      expect(toolsOf(outcome, 1)).toEqual(tools);
      expect((JSON.parse(lastResult(outcome)) as Record<string, unknown>)['allowed_but_not_there']).toEqual(missing);
    }
  });

  it('S71 S70 a policy of the caller’s turn keeps it from the toolset too', async () => {
    const { pith, model } = await skillKernel({ ...hands, ...own('worker'), ...MAIN });
    model.add(run('worker'), call('mine', {}), { text: 'ok' }, { text: 'done' });
    const { requests } = await pith.run('please', {
      agent: 'main',
      policy: { allowTools: ['skill_registry', 'hands', 'toolset:worker/other'] },
    });
    expect(requests[1]!.tools.map(({ name }) => name)).not.toContain('mine');
    expect(JSON.stringify(requests[2]!.messages.at(-1))).toMatch(/tool_unknown|not_allowed/);
  });
});

describe('S71 run_skill', () => {
  it('S71 without allowed-tools it has what the agent has, but does not run skills itself; its files can be read', async () => {
    const { turn } = await skillKernel({ ...hands, ...skill('worker'), 'skills/worker/references/guide.md': 'GUIDE', ...MAIN });
    const read = call('read_skill_resource', { skill_id: 'worker', path: 'guide.md' });
    const outcome = await turn('main', 'please', run('worker'), read, { text: 'ok' });
    expect(toolsOf(outcome, 1)).toEqual(['take', 'give', 'risk', 'read_skill', 'read_skill_resource']);
    expect(JSON.stringify(outcome.requests[2]!.messages.at(-1))).toContain('GUIDE');
  });

  it('S71 a policy of the turn narrows it further', async () => {
    const { pith, model } = await skillKernel({ ...hands, ...skill('worker', { more: 'allowed-tools: [take, give]\n' }), ...MAIN });
    model.add(run('worker'), { text: 'ok' }, { text: 'done' });
    const { requests } = await pith.run('please', { agent: 'main', policy: { denyTools: ['hands/give'] } });
    expect(requests[1]!.tools.map(({ name }) => name)).toEqual(['take']);
  });

  it('S71 what needs a person’s approval asks with the path, and the answer goes on where it stopped', async () => {
    const { pith, model } = await skillKernel({ ...hands, ...skill('worker', { more: 'allowed-tools: risk\n' }), ...MAIN });
    model.add(run('worker'), call('risk', {}));
    const first = await pith.run('please', { agent: 'main' });
    expect(first.reason).toBe('awaiting_approval');
    const question = first.events.find(({ type }) => type === 'approval-request');
    expect(question).toMatchObject({ tool: 'hands/risk', agents: ['main', 'skill:worker'] });
    await pith.kernel.approvals.answer((question as { id: string }).id, { answer: 'once', by: 'tester' });
    model.add({ text: 'risked' }, { text: 'done' });
    const second = await pith.run('', { agent: 'main', input: undefined, resume: true });
    expect(second).toMatchObject({ reason: 'done', text: 'done' });
    expect(JSON.stringify(second.requests[0]!.messages.at(-1))).toContain('risk was done');
  });

  it('S71 does not make the skill known to the conversation: it can be read there afterwards', async () => {
    const { turn } = await skillKernel({ ...hands, ...skill('worker'), ...MAIN });
    const outcome = await turn('main', 'please', run('worker'), { text: 'ok' }, call('read_skill', { skill_id: 'worker' }));
    expect(lastResult(outcome)).toContain('BODY-OF-worker');
  });

  it('S71 a skill that the agent may not see cannot be run; one that fails says why', async () => {
    const shut = agent('main', 'uses_tools: [skill_registry/run_skill]', 'skills: { deny: [worker] }', 'limits: { max_turns: 3 }');
    const { turn } = await skillKernel({ ...skill('worker'), ...skill('other'), ...shut });
    const outcome = await turn('main', 'please', run('worker'), run('other'), { error: new Error('the model broke') });
    expect(outcome.results).toMatchObject([
      { error: { code: 'skill_not_found' } },
      { error: { message: expect.stringContaining("skill 'other' failed") } },
    ]);
  });

  it('S71 in the ordinary way to read a skill, allowed-tools is advice, and what is not there is named', async () => {
    const { turn } = await skillKernel({ ...hands, ...skill('worker', { more: 'allowed-tools: Read take Bash(git:*)\n' }), ...MAIN });
    const text = lastResult(await turn('main', 'please', call('read_skill', { skill_id: 'worker' })));
    expect(text).toContain('allowed tools (advice): Read, take, Bash(git:*)\n');
    expect(text).toContain('note: of the allowed tools you do not have: Read, Bash(git:*)\n');
  });
});
