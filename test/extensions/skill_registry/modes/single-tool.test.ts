import { fakeClock } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { rulesFor, singleTool, singleToolBudget } from '../../../../sandbox/extensions/skill_registry/modes/turn-tools.ts';
import { skillOf } from '../skill-values.ts';
import { agent, call, lastResult, skillKernel, skill, toolsOf } from '../skill-kernel.ts';

const SINGLE = 'skills: { mode: single_tool }';
const activate = (name: string) => call('skill', { skill_name: name });

describe('S61 what a model is told of the one tool', () => {
  it('S61 every rule is one pinned sentence', () => {
    expect(rulesFor(['skill_registry/copy_skill_file', 'skill_scripts/run_skill_script'])).toEqual([
      'Give the name of the skill only, with no arguments, such as skill_name "code-review".',
      'When a skill is relevant, call this tool IMMEDIATELY, as your first action, before any other answer.',
      'Never only announce or mention a skill without calling this tool.',
      'Use only the skills that are listed in <skills> below.',
      'Do not call a skill that is already running.',
      'The folder of a skill has supporting files, such as references, templates and scripts: read them with read_skill_resource.',
      'The folder of a skill is read-only.',
      'To change one of its files, copy it to the working directory first, and change the copy.',
      'Run Python through uv, and never install packages with the system pip.',
    ]);
    const { description } = singleTool([skillOf('a')], 1000, rulesFor([]));
    for (const rule of rulesFor([])) expect(description).toContain(`\n- ${rule}\n`);
    expect(description).not.toContain('uv');
    expect(description).not.toContain('copy');
    expect(rulesFor(['any/shell']).at(-1)).toContain('uv');
  });

  it('S61 the list is XML, sorted by id and escaped, and the ids are the enum', () => {
    const evil = skillOf('b', { name: 'B "two" & <x>', directory: "/it's/b", description: 'Uses </skill> & "quotes"\nand\u202e more.' });
    const { description, inputSchema } = singleTool([evil, skillOf('a', { description: 'First.' })], 1000, []);
    expect(description.slice(description.indexOf('<skills>\n'))).toBe(
      [
        '<skills>',
        '<skill id="a" name="a" directory="/skills/a">First.</skill>',
        '<skill id="b" name="B &quot;two&quot; &amp; &lt;x&gt;" directory="/it&apos;s/b">Uses &lt;/skill&gt; &amp; &quot;quotes&quot; and\\u{202e} more.</skill>',
        '</skills>',
      ].join('\n'),
    );
    expect(inputSchema).toMatchObject({ properties: { skill_name: { enum: ['a', 'b'] } }, required: ['skill_name'] });
  });

  it('S61 many skills stay all listed, with shorter descriptions', () => {
    const many = Array.from({ length: 150 }, (_, at) =>
      skillOf(`topic-${at}`, { description: `Explains ${at}. ${'More words follow here. '.repeat(20)}` }),
    );
    const { description, inputSchema } = singleTool(many, singleToolBudget(null), []);
    expect(description.match(/<skill /g)).toHaveLength(150);
    expect((inputSchema as { properties: { skill_name: { enum: string[] } } }).properties.skill_name.enum).toHaveLength(150);
    expect(description).toContain('Explains 7.');
    expect(description).not.toContain('More words follow here. More');
    expect(description).toContain('Descriptions are shortened, because there are many skills.');
    expect(singleTool(many, 100, []).description).toContain('<skill id="topic-7" name="topic-7" directory="/skills/topic-7"></skill>');
    expect([singleToolBudget(8000), singleToolBudget(1_000_000)]).toEqual([800, 10_000]);
  });
});

describe.each([{ wire: false }, { wire: true }])('the mode single_tool (%o)', ({ wire }) => {
  it('S61 S65 an agent has the tool and read_skill_resource without uses_tools, and no catalog', async () => {
    const files = { ...skill('beta'), ...skill('alpha'), 'skills/alpha/references/guide.md': 'GUIDE' };
    const { turn, pith } = await skillKernel({ ...files, ...agent('one', SINGLE) }, { wire });
    const guide = call('read_skill_resource', { skill_id: 'alpha', path: 'references/guide.md' });
    const outcome = await turn('one', 'hello', activate('alpha'), guide);
    const [first] = outcome.requests;
    const directory = `${pith.sandbox}/skills/alpha`;
    expect(toolsOf(outcome)).toEqual(['skill', 'read_skill_resource']);
    expect(first!.system).not.toContain('alpha');
    expect(first!.tools[0]).toMatchObject({ inputSchema: { properties: { skill_name: { enum: ['alpha', 'beta'] } } } });
    expect(first!.tools[0]!.description).toContain(
      `<skill id="alpha" name="alpha" directory="${directory}">Knows all about alpha.</skill>`,
    );
    expect(outcome.results).toMatchObject([
      {
        name: 'skill',
        output: `# Skill: alpha\n\nDirectory: ${directory}\nFiles: references/guide.md\n\n## Instructions\n\nBODY-OF-alpha\n`,
        line: 'Skill alpha loaded',
        metadata: { skill_id: 'alpha', skill_name: 'alpha' },
        retain: { key: 'alpha' },
      },
      { name: 'read_skill_resource', output: 'GUIDE' },
    ]);
  });

  it('S61 an active skill is not loaded again, until the run ends', async () => {
    const { turn } = await skillKernel({ ...skill('alpha'), ...skill('beta'), ...agent('one', SINGLE) }, { wire });
    const outcome = await turn('one', 'hello', activate('alpha'), activate('alpha'), activate('beta'), activate('alpha'));
    const outputs = outcome.results.map(({ output }) => String(output));
    expect(outputs.map((output) => output.includes('BODY-OF'))).toEqual([true, false, true, false]);
    expect(outputs[1]).toBe('Skill `alpha` is already active: follow its instructions above.');
    expect(lastResult(await turn('one', 'and again', activate('alpha')))).toContain('BODY-OF-alpha');
  });
});

describe('the mode single_tool', () => {
  it('S61 compaction resets what is active, also in the middle of a run', async () => {
    const { turn } = await skillKernel({ ...skill('alpha'), ...agent('one', SINGLE) }, { contextWindow: 4000 });
    const long = 'word '.repeat(2600);
    const again = [{ name: 'skill', input: { skill_name: 'alpha' } }];
    const usage = { inputTokens: 3500, outputTokens: 100 };
    const steps = [{ text: [long], calls: again }, { calls: again, usage }, { text: 'SUMMARY' }, activate('alpha')];
    const outcome = await turn('one', 'hello', ...steps);
    expect(outcome.events).toContainEqual(expect.objectContaining({ type: 'notice', code: 'thread_compacted' }));
    expect(outcome.results.map(({ output }) => String(output).includes('BODY-OF-alpha'))).toEqual([true, false, true]);
  });

  it('S41 a long skill comes in the same parts by the one tool, and each part is loaded once', async () => {
    const body = Array.from({ length: 2000 }, (_, at) => `Line ${at} of a long text that goes on and on and on.\n`).join('');
    const { turn } = await skillKernel({ ...skill('alpha', { body }), ...skill('beta'), ...agent('one', SINGLE) });
    const part = (at: number) => call('skill', { skill_name: 'alpha', part: at });
    const outcome = await turn('one', 'hello', activate('alpha'), part(2), part(2), part(3));
    const [first, second, again, none] = outcome.results.map((result) => String(result.output ?? result.error?.code));
    expect(outcome.requests[0]!.tools[0]!.inputSchema).toMatchObject({
      properties: { part: { type: 'integer' } },
      required: ['skill_name'],
    });
    expect(first).toContain('## Instructions, part 1/2\n');
    expect(first).toContain('The next part is skill(skill_name="alpha", part=2).');
    const texts = [first!, second!].map((text) => text.replace(/^[^]*part \d\/2\n\n/, '').replace(/\n\nThe next part.*$/, ''));
    expect(texts.join('')).toBe(body);
    expect(again).toBe('Skill `alpha` part 2/2 is already active: follow its instructions above.');
    expect(none).toBe('part_not_found');
    const short = await skillKernel({ ...skill('beta'), ...agent('one', SINGLE) });
    const { requests } = await short.turn('one', 'hello');
    expect(Object.keys((requests[0]!.tools[0]!.inputSchema as { properties: object }).properties)).toEqual(['skill_name']);
  });

  it('S61 without skills there is no tool', async () => {
    const { turn } = await skillKernel({
      ...agent('one', SINGLE),
      ...skill('alpha'),
      ...agent('shut', 'skills: { mode: single_tool, deny: ["*"] }'),
    });
    expect(toolsOf(await turn('shut', 'hello'))).toEqual([]);
    const none = await skillKernel({ ...agent('one', SINGLE) });
    expect(toolsOf(await none.turn('one', 'hello'))).toEqual([]);
  });

  it('S61 S31 allow and deny leave what the agent may see; all else does not exist for it', async () => {
    const { turn } = await skillKernel({
      ...skill('alpha'),
      ...skill('beta'),
      ...skill('gamma'),
      ...agent('one', 'uses_skills: [gamma]', 'skills: { mode: single_tool, deny: [beta] }'),
    });
    const outcome = await turn('one', 'hello', activate('beta'), activate(''), activate('gamma'));
    expect(outcome.requests[0]!.tools[0]!.inputSchema).toMatchObject({ properties: { skill_name: { enum: ['alpha'] } } });
    expect(outcome.results).toMatchObject([
      { error: { code: 'skill_not_found', message: expect.not.stringContaining('beta,') } },
      { error: { code: 'skill_name_required', message: 'A skill id is required. The description of this tool lists them.' } },
      { ok: true, output: expect.stringContaining('BODY-OF-gamma') }, // bound: not listed, and can be read
    ]);
  });

  it('S61 a changed skill is told and loaded as it is by the very next turn', async () => {
    const clock = fakeClock();
    const { turn, pith } = await skillKernel({ ...skill('alpha'), ...agent('one', SINGLE) }, { clock });
    await turn('one', 'hello');
    await pith.write('skills/beta/SKILL.md', '---\nname: Beta Two\ndescription: New.\n---\nBODY {{ x }} $&');
    await clock.advance(260); // S22
    const outcome = await turn('one', 'again', activate('Beta Two'));
    expect(outcome.requests[0]!.tools[0]!.description).toContain('id="beta" name="Beta Two"');
    expect(lastResult(outcome)).toMatch(/^# Skill: Beta Two\n[^]*BODY \{\{ x \}\} \$&$/);
  });

  it('S25 skill_registry/skill can be named by an agent of another mode; the extension alone brings neither it nor run_skill and copy_skill_file', async () => {
    const { turn } = await skillKernel({
      ...skill('alpha'),
      ...agent('both', 'uses_tools: [skill_registry, skill_registry/skill]'),
      ...agent('plain', 'uses_tools: [skill_registry]'),
    });
    const outcome = await turn('both', 'hello');
    expect(toolsOf(outcome)).toEqual(['list_skills', 'read_skill', 'read_skill_resource', 'skill']);
    expect(outcome.requests[0]!.tools[3]!.description).toContain('<skill id="alpha"');
    expect(outcome.requests[0]!.system).toContain('• `alpha`');
    expect(toolsOf(await turn('plain', 'hello'))).toEqual(['list_skills', 'read_skill', 'read_skill_resource']);
  });

  it('S15 skills that are switched off leave the agent without the tool', async () => {
    const { turn } = await skillKernel({ ...skill('alpha'), ...agent('one', SINGLE) }, { flags: { skills: { enabled: false } } });
    expect(toolsOf(await turn('one', 'hello'))).toEqual([]);
  });
});
