import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { JsonValue } from 'pith';
import { expectSkillLoaded, scriptedModel, type ScriptedReply, testKernel, type TestKernel, type TurnOutcome } from 'pith/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { folderWith } from '../../places.ts';

const skill = (id: string, more = '') => ({
  [`skills/${id}/SKILL.md`]: `---\nname: ${id}\ndescription: Knows all about ${id}.\n${more}---\n\nBODY-OF-${id}\n`,
});
const agent = (id: string, ...lines: readonly string[]) => ({
  [`agents/${id}/manifest.yaml`]: `id: ${id}\nagent:\n${lines.map((line) => `  ${line}\n`).join('')}`,
});
const call = (name: string, input: JsonValue): ScriptedReply => ({ calls: [{ name, input }] });

/** The real kernel with two skills, and an agent for each way of loading one. */
const files = {
  'pith.yaml': 'default_agent: reader\nskills: { sources: { replace: [sandbox/skills] } }\n',
  ...skill('invoices'),
  ...skill('poems', 'triggers: { keywords: [sonnet] }\n'),
  ...agent('reader', 'uses_tools: [skill_registry, delegation]', 'delegates_to: [bound]'),
  ...agent('single', 'skills: { mode: single_tool }'),
  ...agent('triggered', 'skills: { mode: triggers }'),
  ...agent('bound', 'uses_skills: [invoices]', 'description: Knows invoices'),
  ...agent('bare', 'uses_tools: []', 'skills: { deny: ["*"] }'),
};

async function start(...steps: readonly ScriptedReply[]): Promise<TestKernel> {
  const only = ['skill_registry', 'skill_triggers', 'delegation'];
  const test = await testKernel({ files, only, model: scriptedModel([...steps, { text: 'Done.' }]) });
  onTestFinished(() => test.stop());
  return test;
}

const failureOf = (turn: TurnOutcome, ...wanted: readonly [string, Parameters<typeof expectSkillLoaded>[2]?]): string => {
  try {
    expectSkillLoaded(turn, ...wanted);
  } catch (error) {
    return (error as Error).message;
  }
  return 'it was loaded';
};

it.each([
  ['reader', 'read_skill', 'help', 'invoices', [call('read_skill', { skill_id: 'invoices' })]],
  ['single', 'skill', 'help', 'invoices', [call('skill', { skill_name: 'invoices' })]],
  ['triggered', 'trigger', 'write a sonnet', 'poems', []],
  ['bound', 'uses_skills', 'help', 'invoices', []],
] as const)('U49 expectSkillLoaded sees what the agent %s loads by %s', async (id, how, input, loaded, steps) => {
  const test = await start(...steps);
  const turn = await test.run(input, { agent: id });
  expectSkillLoaded(turn, loaded);
  expectSkillLoaded(turn, loaded, { how, agent: id, again: false });
  expect(turn.skills.loaded).toEqual([{ id: loaded, how, agent: id, again: false }]);
  expect(failureOf(turn, loaded, { how: 'by_magic' })).toContain(`did not load the skill '${loaded}' (how: by_magic)`);
});

it('U49 a text that the thread held already is loaded again, and another turn is not asked about it', async () => {
  const read = call('read_skill', { skill_id: 'invoices' });
  const test = await start(read, { text: 'One.' }, read, { text: 'Two.' });
  await test.run('help');
  const second = await test.run('help');
  expectSkillLoaded(second, 'invoices', { again: true });
  expect(failureOf(second, 'invoices', { again: false })).toContain('  loaded: invoices (how: read_skill, agent: reader, again: true)');
  expect((await test.run('thanks')).skills.loaded).toEqual([]);
});

it('U49 a skill of an agent that the turn called counts, and says whose it was', async () => {
  const test = await start(call('delegate_task', { agent_id: 'bound', task: 'Look.' }), { text: 'Looked.' });
  const turn = await test.run('ask the other');
  expectSkillLoaded(turn, 'invoices', { agent: 'bound' });
  expect(failureOf(turn, 'invoices', { agent: 'reader' })).toContain('(agent: reader)');
});

it('U49 the message of its failure says what was loaded and offered instead, and which calls failed', async () => {
  const test = await start(call('read_skill', { skill_id: 'invoice' }), call('read_skill', { skill_id: 'poems' }));
  const turn = await test.run('help');
  const lines = failureOf(turn, 'invoice').split('\n');
  expect(lines.slice(0, 3)).toEqual([
    "the turn did not load the skill 'invoice'",
    '  loaded: poems (how: read_skill, agent: reader, again: false)',
    "  offered: invoices, poems (did you mean 'invoices'?)",
  ]);
  expect(lines[3]).toMatch(/^ {2}failed call: read_skill: .*'invoice'/u);
  expect(lines).toHaveLength(4);
});

it('U49 a turn that failed says so, and one without skills that none were offered', async () => {
  const test = await start();
  const bare = await test.run('help', { agent: 'bare' });
  expect(failureOf(bare, 'poems')).toBe("the turn did not load the skill 'poems'\n  loaded: none\n  offered: none");
  const unknown = await test.run('help', { agent: 'nobody' });
  expect(failureOf(unknown, 'poems')).toMatch(/\n {2}the turn failed: agent_unknown: .*'nobody'/u);
});

it("U49 a kernel over a copy of a project's sandbox has what a person wrote, and neither touches nor copies what Pith keeps there", async () => {
  const project = folderWith({
    'sandbox/pith.yaml': 'default_agent: asker\n',
    'sandbox/agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: [sandbox] }\n',
    'sandbox/extensions/shouts/manifest.yaml': 'id: shouts\nentrypoint: main.ts\nprovides: [tool]\n',
    'sandbox/extensions/shouts/main.ts': `import { defineTool, z } from 'pith';
import { louder } from 'louder';
export default class { getTools() { return [defineTool({ name: 'shout', description: 'd', effect: 'read', input: z.object({}), execute: () => louder('hey') })]; } }\n`,
    'sandbox/data/notes.txt': 'kept',
    'node_modules/louder/package.json': '{ "name": "louder", "type": "module", "exports": "./index.js" }',
    'node_modules/louder/index.js': 'export const louder = (text) => text.toUpperCase();\n',
  });
  const copyOf = path.join(project, 'sandbox');
  const model = scriptedModel([call('shout', {}), { text: 'Done.' }]);
  const test = await testKernel({ copyOf, only: [], model, files: { 'agents/asker/prompt.jinja2': 'FROM-FILES' } });
  const turn = await test.run('go');
  expect(turn.results).toMatchObject([{ name: 'shout', ok: true, output: 'HEY' }]);
  expect(turn.requests[0]?.system).toContain('FROM-FILES'); // `files` are written over the copy
  expect(existsSync(path.join(test.sandbox, 'data/notes.txt'))).toBe(false);
  await test.stop();
  expect([path.join(copyOf, 'data/pith.db'), path.join(copyOf, 'agents/asker/prompt.jinja2')].filter(existsSync)).toEqual([]);
  expect(existsSync(path.join(project, 'node_modules/louder/index.js'))).toBe(true);
});

it.each(['absolute', 'relative'])(
  "U49 where a project's settings want its state elsewhere (%s), a test writes and copies nothing there",
  async (kind) => {
    const project = folderWith({ 'sandbox/state/notes.txt': 'private', 'elsewhere/notes.txt': 'private' });
    const state = kind === 'absolute' ? path.join(project, 'elsewhere') : path.join(project, 'sandbox/state');
    const copyOf = path.join(project, 'sandbox');
    writeFileSync(path.join(copyOf, 'pith.yaml'), `data_dir: ${kind === 'absolute' ? state : 'state'}\n`);
    const test = await testKernel({ copyOf, only: [], model: scriptedModel([{ text: 'Done.' }]), files: agent('bare', 'uses_tools: []') });
    await test.run('go', { agent: 'bare' });
    expect(existsSync(path.join(test.sandbox, 'state/notes.txt'))).toBe(kind === 'absolute');
    await test.stop();
    expect(readdirSync(state)).toEqual(['notes.txt']);
  },
);

it('U49 a test kernel that cannot be made leaves no folder behind, and refuses to copy over a sandbox', async () => {
  const temporary = folderWith({});
  vi.stubEnv('TMPDIR', temporary);
  onTestFinished(() => void vi.unstubAllEnvs());
  await expect(testKernel({ copyOf: path.join(temporary, 'missing') })).rejects.toThrow('ENOENT');
  await expect(testKernel({ only: ['zzz'] })).rejects.toThrow('zzz');
  expect(readdirSync(temporary)).toEqual([]);
  const sandbox = folderWith({});
  await expect(testKernel({ sandbox, copyOf: sandbox })).rejects.toThrow('would be written over');
});

it('U49 a test that fails shows its own error and not what the script had left, which `stop` reports', async () => {
  const model = scriptedModel([{ text: 'One.' }, { text: 'Two.' }]);
  const failing = async () => {
    await using test = await testKernel({ only: [], model, files: agent('bare', 'uses_tools: []') });
    const turn = await test.run('help', { agent: 'bare' });
    expectSkillLoaded(turn, 'poems');
  };
  await expect(failing()).rejects.toThrow("the turn did not load the skill 'poems'");
  const test = await testKernel({ only: [], model });
  await expect(test.stop()).rejects.toThrow('1 scripted step(s) were never asked for');
});
