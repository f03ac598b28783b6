import { SkillProvider } from 'pith';
import { fakeClock, scriptedModel, testKernel, type FakeClock, type ScriptedModel, type TestKernel, type TurnOutcome } from 'pith/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { agentFile, extensionFiles, skillFile, toolExtension } from './sandbox-files.ts';
import { until } from '../waiting.ts';

/** S22: a look at the skills holds for 250 ms. K20: one at the declarations for 1 s. */
const NEXT_SKILL_LOOK_MS = 251;
const NEXT_DECLARATION_LOOK_MS = 1000;

let pith: TestKernel | undefined;
let clock: FakeClock;
let model: ScriptedModel;

afterEach(async () => {
  await pith?.stop();
  pith = undefined;
});

async function start(files: Record<string, string>): Promise<TestKernel> {
  clock = fakeClock();
  model = scriptedModel();
  pith = await testKernel({ files: { 'pith.yaml': 'skills: { poll_seconds: 0 }\n', ...files }, model, clock });
  return pith;
}

/** A turn that answers `ok`, after so many milliseconds. */
async function turn(after: number, agent?: string): Promise<TurnOutcome & { readonly system: string }> {
  await clock.advance(after);
  model.add({ text: 'ok' });
  const outcome = await pith!.run('hello', agent === undefined ? {} : { agent, threadId: agent });
  expect(outcome, JSON.stringify(outcome.error)).toMatchObject({ reason: 'done', text: 'ok' });
  return { ...outcome, system: outcome.requests[0]!.system };
}

describe('skills while a conversation runs', () => {
  it('S22 S6 a skill whose YAML breaks stays in its last good version, said with line and cure, and the mended one is used', async () => {
    await start({
      'skills/alpha/SKILL.md': skillFile('alpha', 'The good wording.', 'GOOD-BODY of xylem'),
      'skills/beta/SKILL.md': skillFile('beta', 'A neighbour.', 'x'),
    });
    await pith!.kernel.start(); // as a conversation does: bodies are kept from now on
    await turn(0);
    const read = async () => JSON.stringify(await pith!.kernel.agents.callTool('orchestrator', 'list_skills', { query: 'xylem' }));
    await until(async () => (await read()).includes('matches: xylem'));
    await pith!.write('skills/alpha/SKILL.md', '---\nname: "alpha\n  - description: \'x\n\tbroken\n---\n\nBROKEN-BODY\n');
    const { system } = await turn(NEXT_SKILL_LOOK_MS);
    expect(system).toContain('• `alpha` — The good wording.');
    expect(system).toContain('`beta`');
    const body = await pith!.kernel.agents.callTool('orchestrator', 'read_skill', { skill_id: 'alpha' });
    expect(JSON.stringify(body)).toMatch(/note: the file is broken now; this is the last good version.*GOOD-BODY/);
    const skills = await (await pith!.kernel.host.providers.active(SkillProvider))[0]!.listSkills();
    const diagnostics = skills.find(({ id }) => id === 'alpha')!.diagnostics;
    expect(diagnostics).toContainEqual(expect.objectContaining({ code: 'last_good_used' }));
    expect(diagnostics).toContainEqual(expect.objectContaining({ line: expect.any(Number), file: expect.stringContaining('alpha') }));
    const report = await pith!.kernel.doctor();
    expect(report.notes).toContainEqual(
      expect.objectContaining({
        message: expect.stringContaining("skill 'alpha'"),
        file: expect.stringContaining('alpha/SKILL.md'),
        line: expect.any(Number),
      }),
    );

    await pith!.write('skills/alpha/SKILL.md', skillFile('alpha', 'The mended wording.', 'MENDED-BODY'));
    expect((await turn(NEXT_SKILL_LOOK_MS)).system).toContain('• `alpha` — The mended wording.');
  });
});

describe('agents and extensions while a conversation runs', () => {
  it('K20 an agent added by one manifest answers in the next turn; an edited prompt is used; a removed agent is gone', async () => {
    await start({ 'agents/writer/manifest.yaml': agentFile('writer'), 'agents/writer/prompt.jinja2': 'PROMPT-ONE' });
    expect((await turn(0, 'writer')).system).toContain('PROMPT-ONE');

    await pith!.write('agents/poet/manifest.yaml', agentFile('poet', { instructions: 'RHYME-ALWAYS' }));
    expect((await turn(NEXT_DECLARATION_LOOK_MS, 'poet')).system).toContain('RHYME-ALWAYS');

    await pith!.write('agents/writer/prompt.jinja2', 'PROMPT-TWO');
    expect((await turn(NEXT_DECLARATION_LOOK_MS, 'writer')).system).toContain('PROMPT-TWO');

    await pith!.remove('agents/poet');
    await clock.advance(NEXT_DECLARATION_LOOK_MS);
    const gone = await pith!.run('hello', { agent: 'poet', threadId: 'poet' });
    expect(gone).toMatchObject({ reason: 'error', error: { code: 'agent_unknown' } });
  });

  it('K20 K1 an agent whose manifest breaks says file, line and cure, and works again when corrected', async () => {
    await start({ 'agents/writer/manifest.yaml': agentFile('writer', { instructions: 'WRITER-ONE' }) });
    await turn(0, 'writer');
    await pith!.write('agents/writer/manifest.yaml', 'id: writer\nagent:\n  limit: {}\n');
    await clock.advance(NEXT_DECLARATION_LOOK_MS);
    const broken = await pith!.run('hello', { agent: 'writer', threadId: 'writer' });
    expect(broken.error?.message).toMatch(/limit.*did you mean 'limits'.*manifest\.yaml:3/su);
    await pith!.write('agents/writer/manifest.yaml', agentFile('writer', { instructions: 'WRITER-TWO' }));
    expect((await turn(NEXT_DECLARATION_LOOK_MS, 'writer')).system).toContain('WRITER-TWO');
  });

  const GREETER = {
    ...extensionFiles('greeter', {
      provides: ['tool'],
      main: [
        "import { SkillProvider, defineTool, z } from 'pith';",
        "import { greeting } from './greeting.ts';",
        'export default class {',
        "  getTools() { return [defineTool({ name: 'greet', description: 'Greets.', input: z.object({}), effect: 'read', execute: async () => greeting })]; }",
        '}',
      ].join('\n'),
    }),
    'extensions/greeter/greeting.ts': "export const greeting = 'GREETING-ONE';\n",
  };
  const greet = async () => {
    const { results } = await called('greet');
    return results[0];
  };
  async function called(name: string): Promise<TurnOutcome> {
    await clock.advance(NEXT_DECLARATION_LOOK_MS);
    model.add({ calls: [{ name, input: {} }] }, { text: 'ok' });
    return pith!.run('call it');
  }

  it("K20 an edit of an extension's helper file is used by the next turn", async () => {
    await start(GREETER);
    expect(await greet()).toMatchObject({ ok: true, output: 'GREETING-ONE' });
    await pith!.write('extensions/greeter/greeting.ts', "export const greeting = 'GREETING-TWO';\n");
    expect(await greet()).toMatchObject({ ok: true, output: 'GREETING-TWO' });
  });

  it.each([
    ['does not parse', "export const greeting = 'GREETING;\n"],
    ['throws while it is imported', "export const greeting = 'x';\nthrow new Error('no more greetings');\n"],
    ['lacks what is imported from it', 'export const farewell = 1;\n'],
  ])('K20 an edit that %s keeps the last good version and says so', async (_what, broken) => {
    await start(GREETER);
    expect(await greet()).toMatchObject({ ok: true, output: 'GREETING-ONE' });
    await pith!.write('extensions/greeter/greeting.ts', broken);
    expect(await greet()).toMatchObject({ ok: true, output: 'GREETING-ONE' });
    const report = await pith!.kernel.doctor();
    const greeter = report.extensions.find(({ id }) => id === 'greeter')!;
    expect(report.ok, JSON.stringify(greeter)).toBe(false);
    expect(JSON.stringify(greeter)).toMatch(/greeting\.ts|no more greetings|bundle_failed|import_failed/u);
    await pith!.write('extensions/greeter/greeting.ts', "export const greeting = 'GREETING-THREE';\n");
    expect(await greet()).toMatchObject({ ok: true, output: 'GREETING-THREE' });
    expect((await pith!.kernel.doctor()).extensions.find(({ id }) => id === 'greeter')).toMatchObject({ state: 'active', code: undefined });
  });

  it('K20 an extension that is added brings its tools to the next turn; one that is removed takes them along', async () => {
    await start({});
    expect((await turn(0)).requests[0]!.tools.map(({ name }) => name)).not.toContain('dawn');
    for (const [file, content] of Object.entries(toolExtension('morning', 'dawn', "'light'"))) await pith!.write(file, content);
    expect((await called('dawn')).results[0]).toMatchObject({ ok: true, output: 'light' });
    await pith!.remove('extensions/morning');
    expect((await turn(NEXT_DECLARATION_LOOK_MS)).requests[0]!.tools.map(({ name }) => name)).not.toContain('dawn');
  });
});
