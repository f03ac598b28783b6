import { describe, expect, it } from 'vitest';
import { type TestKernel, type TurnOutcome } from 'pith/testing';
import { kernelOf } from '../../places.ts';

let kernel: TestKernel;

const calls = (turn: TurnOutcome) => turn.events.flatMap((event) => (event.type === 'tool-call' ? [[event.name, event.input]] : []));

describe.each([{ wire: false }, { wire: true }])('without a key, in the shipped sandbox (wire: $wire)', ({ wire }) => {
  it('is the model that is chosen, and answers from the right skill, naming the place and how to connect a model', async () => {
    kernel = await kernelOf({ wire });
    const turn = await kernel.run('review my extension for best practices');
    expect(turn).toMatchObject({ reason: 'done', error: undefined });
    expect(calls(turn)).toEqual([
      ['list_skills', { query: 'review my extension for best practices' }],
      ['read_skill', { skill_id: 'code-review' }],
    ]);
    expect(turn.results.map((result) => result.ok)).toEqual([true, true]);
    expect(turn.text).toContain('code-review › Best practices');
    expect(turn.text).toMatch(/^From the skill `code-review` \([\w ]+\/(?:skills\/)?code-review\):/u); // by its source, not by a path
    expect(turn.text).not.toContain(process.cwd());
    expect(turn.text).toMatch(/type \/setup in a chat, or run: pith setup$/u);
  });

  it('answers a follow-up in the same thread, although the skill is not sent twice', async () => {
    kernel = await kernelOf({ wire });
    await kernel.run('review my extension for best practices');
    const turn = await kernel.run('code-review: how do I write the report?');
    expect(turn.results.at(-1)?.output).toMatch(/already loaded above/);
    expect(turn.text).toContain('code-review › Form of the report');
  });

  it('finds a skill of the user, and says so when nothing fits', async () => {
    const skill =
      '---\nname: sourdough\ndescription: Bake sourdough bread with wild yeast.\n---\n# Sourdough\n\n## Proofing\n\nLet the dough rest for twelve hours.\n';
    kernel = await kernelOf({ wire, files: { 'skills/sourdough/SKILL.md': skill } });
    expect((await kernel.run('how long should sourdough dough rest?')).text).toContain('Let the dough rest for twelve hours.');
    const turn = await kernel.run('zebra xylophone quantum', { threadId: 'other' });
    expect(turn.text).toContain('Nothing fits');
    expect(turn.text).toContain('`code-review`');
    for (const [at, small] of ['thanks, that was great', 'what time is it in Tokyo', 'lovely weather today'].entries())
      expect((await kernel.run(small, { threadId: `small-${at}` })).text, small).toContain('Nothing fits');
  });
});

const SOURDOUGH =
  '---\nname: sourdough\ndescription: Bake sourdough bread with wild yeast.\ntriggers: [sourdough]\n---\n# Sourdough\n\n## Proofing\n\nLet the dough rest for twelve hours.\n';
const settings = 'default_agent: one\nskills: { sources: { replace: [sandbox/skills] } }\n';

describe('N5 without a key, however an agent meets its skills', () => {
  const open = async (agent: Readonly<Record<string, string>>) =>
    (kernel = await kernelOf({ files: { 'skills/sourdough/SKILL.md': SOURDOUGH, 'pith.yaml': settings, ...agent } }));

  it('answers from what triggers brought, in that turn and while it is active, and says when they brought nothing', async () => {
    const one = await open({ 'agents/one/manifest.yaml': 'id: one\nagent: { uses_tools: [], skills: { mode: triggers } }\n' });
    expect((await one.run('sourdough: how long must the dough rest?')).text).toContain('Let the dough rest for twelve hours.');
    expect((await one.run('and when sourdough is proofing?')).text).toContain('sourdough › Proofing');
    expect((await one.run('zebra', { threadId: 'other' })).text).toContain('No words of this message bring a skill');
  });

  it('answers through the one tool of an AGENT.md with allow_skills, also when it is asked again', async () => {
    const one = await open({ 'agents/one/AGENT.md': '---\nname: One\nallow_skills: true\n---\nYou help.\n' });
    const turn = await one.run('how do I bake sourdough bread?');
    expect(calls(turn)).toEqual([['skill', { skill_name: 'sourdough' }]]);
    expect(turn.text).toContain('`sourdough`');
    expect((await one.run('bake sourdough: proofing?')).text).toContain('Let the dough rest for twelve hours.');
    expect((await one.run('Hello!')).text).toContain('- `sourdough`: Bake');
  });

  it('says that an agent without skills has none to answer from', async () => {
    const one = await open({ 'agents/one/AGENT.md': '---\nname: One\n---\nYou help.\n' });
    expect((await one.run('sourdough?')).text).toContain('meets none now');
  });
});
