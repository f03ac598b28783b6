import { probeSandboxing } from '@pith/supervised-process';
import { scriptedModel } from 'pith/testing';
import { expect, it } from 'vitest';
import { kernelOf } from '../../places.ts';

const { available } = await probeSandboxing();

const AGENT = 'id: main\nagent: { uses_tools: [skill_registry], skills: { mode: triggers } }\n';
/** A sandbox with an agent, `main`, and these lines of settings. */
const files = (settings = '', agent = AGENT) => ({ 'agents/main/manifest.yaml': agent, 'pith.yaml': `default_agent: main\n${settings}` });

it('S2 S15 hello-extended is off by default, and says how to switch it on', async () => {
  const model = scriptedModel([{ text: 'no' }]);
  const pith = await kernelOf({ model, files: files() });
  const { requests } = await pith.run('please greet Ada in French');
  expect(JSON.stringify([requests[0]?.system, requests[0]?.messages])).not.toContain('Hello, extended');
  expect(requests[0]?.tools.map(({ name }) => name)).not.toContain('greet');
});

it('use.md 19: named alone under skills.allowed it takes all others away, which is said with what to write', async () => {
  const said = async (settings: string) => {
    const pith = await kernelOf({ model: scriptedModel([]), files: files(`skills: { ${settings} }\n`) });
    return (await pith.kernel.problems()).filter(({ code }) => code === 'skills_only_allowed');
  };
  expect(await said('allowed: [hello-extended]')).toMatchObject([
    {
      severity: 'warning',
      message: expect.stringMatching(/^skills\.allowed offers only "hello-extended" and disables \d+ other skills$/u),
      cure: 'to offer it beside them, write instead: skills: { allowed: ["*", "hello-extended"] }',
    },
  ]);
  for (const settings of ['allowed: ["*", hello-extended]', 'allowed: [debugging]', 'enable: [hello-extended]'])
    expect(await said(settings)).toEqual([]);
});

it('S63 S70 switched on, a message brings its text and its tools', async () => {
  const model = scriptedModel([
    { calls: [{ name: 'greet', input: { name: 'Ada', language: 'french' } }] },
    { calls: [{ name: 'greet', input: { name: 'Ada', language: 'Frensh' } }] },
    { text: 'Bonjour, Ada!' },
  ]);
  const pith = await kernelOf({ model, files: files('skills: { allowed: ["*", hello-extended] }\n') });
  const { requests, results } = await pith.run('please greet Ada in French');
  expect(JSON.stringify(requests[0]?.messages)).toContain('# Hello, extended');
  expect(requests[0]?.tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['greet', 'list_greetings']));
  expect(results).toMatchObject([
    { ok: true, output: { greeting: 'Bonjour, Ada!' } },
    { ok: false, error: { code: 'language_unknown', message: "No greeting in 'Frensh' (did you mean 'French'?)" } },
  ]);
});

// Needs a confined place to run in: bubblewrap.
it.skipIf(!available)('S72 S73 its script runs confined, for an agent that lists the tool', async () => {
  const input = { skill_id: 'hello-extended', script: 'scripts/banner.mjs', args: ['Hé!'] };
  const model = scriptedModel([{ calls: [{ name: 'run_skill_script', input }] }, { text: 'done' }]);
  const agent = 'id: main\nagent: { uses_tools: [skill_registry, skill_scripts/run_skill_script] }\n';
  const settings = 'skills: { allowed: ["*", hello-extended], scripts: { approval: never } }\n';
  const pith = await kernelOf({ model, files: files(settings, agent) });
  const { results } = await pith.run('a banner, please');
  expect(results).toMatchObject([{ ok: true, line: 'Script scripts/banner.mjs of hello-extended: exit 0' }]);
  expect(JSON.stringify(results)).toContain('* Hé! *');
});
