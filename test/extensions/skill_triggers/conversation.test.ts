import type { Message } from 'pith';
import { fakeClock, type ModelRequest, type TestKernel } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { kernelOf } from '../../places.ts';
import { call, skillKernel, type SkillKernel } from '../skill_registry/skill-kernel.ts';
import { skillText } from '../skill_registry/skill-sandbox.ts';

const skill = (id: string, { name = id, triggers = '', body = `BODY-OF-${id}\n` } = {}) => ({
  [`skills/${id}/SKILL.md`]: skillText({
    name,
    description: `Knows all about ${id}.`,
    more: triggers === '' ? '' : `triggers: ${triggers}\n`,
    body,
  }),
});

const agent = (keys = '', more = '') =>
  `id: helper\nagent:\n  instructions: HELPER\n  uses_tools: []\n  skills: { mode: triggers${keys} }\n${more}`;

const SKILLS = {
  ...skill('pdf-forms', { triggers: '{ keywords: [pdf, "fill in the form"], verbs: [extract], patterns: ["page \\\\d+ of the scan"] }' }),
  ...skill('sheets', { triggers: '{ keywords: [csv, spreadsheet], verbs: [sum] }' }),
  ...skill('poems', { name: 'Fine Poems' }),
};

describe('mode triggers', () => {
  let world: SkillKernel;
  let pith: TestKernel;
  const clock = fakeClock();

  async function start(files: Readonly<Record<string, string>>, settings = '', contextWindow: number | null = null): Promise<void> {
    const pithYaml = `default_agent: helper\nskills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0${settings} }\n`;
    world = await skillKernel({ 'agents/helper/manifest.yaml': agent(), 'pith.yaml': pithYaml, ...files }, { clock, contextWindow });
    ({ pith } = world);
  }

  /** One turn; what the model was first sent for it. */
  const say = async (input: string): Promise<Sent> => sentOf((await world.chat(input)).requests[0]!);

  it('S62 S64 S65 one conversation goes through all tiers, and the system text stays as it is', async () => {
    await start(SKILLS);
    const one = await say('good morning');
    expect(one.beside).toEqual(['[3 skills available]']);
    expect(one.tools).toEqual(['read_skill', 'read_skill_resource']);

    const two = await say('so, what can you do?');
    expect(two.beside).toHaveLength(1);
    expect(two.beside[0]).toMatch(/^\[Available Skills\]\n• `pdf-forms` — Knows all about pdf-forms\.\n• `poems` — /);

    const three = await say('Extracting the totals of this PDF would help');
    expect(three.beside).toHaveLength(1);
    expect(three.beside[0]).toMatch(/^\[Skill: pdf-forms\]\n[^]*<skill id="pdf-forms" sha256="[0-9a-f]{64}">\nBODY-OF-pdf-forms\n/);
    expect(three.beside[0]).toContain('note: this message brings the skill; follow it where it fits the request');

    const follow = await say('and page 3?');
    expect(follow.beside).toEqual([expect.stringMatching(/^Active skills: `pdf-forms`\./)]);
    expect(follow.all.split('BODY-OF-pdf-forms')).toHaveLength(2);
    expect([two, three, follow].map(({ system }) => system)).toEqual([one.system, one.system, one.system]);
    expect(one.system).not.toContain('pdf');

    expect((await say('and page 4?')).beside).toEqual([expect.stringMatching(/^Active skills: `pdf-forms`\./)]);
    expect((await say('and page 5?')).beside).toEqual([expect.stringMatching(/^Active skills: `pdf-forms`\./)]);
    expect((await say('and page 6?')).beside).toEqual(['[3 skills available]']);
    const again = await say('that pdf again');
    expect(again.beside).toEqual([expect.stringMatching(/^Active skills: `pdf-forms`\./)]);
    expect(again.all.split('BODY-OF-pdf-forms')).toHaveLength(2);
  });

  it('S64 a body that was compacted away or has changed is given again, which does not prolong its stay', async () => {
    await start(SKILLS);
    await say(`sum up this spreadsheet ${'with one more word '.repeat(500)}`);
    await say('and by year?');
    await compact();
    const after = await say('and by month?');
    expect(after.beside).toEqual([expect.stringContaining('BODY-OF-sheets')]);
    await pith.write('skills/sheets/SKILL.md', SKILLS['skills/sheets/SKILL.md']!.replace('BODY-OF-sheets', 'NEW-BODY'));
    await clock.advance(260); // S22: a look at the disk holds for a quarter of a second
    const changed = await say('and by day?');
    expect(changed.beside[0]).toMatch(/note: this skill has changed since it was given above[^]*NEW-BODY/);
    expect((await say('and by hour?')).beside).toEqual(['[3 skills available]']);
  });

  it('S64 what was matched stays in after a restart, and when another process goes on with the thread', async () => {
    await start(SKILLS);
    await say('this pdf');
    await pith.restart();
    const after = await say('and page 3?');
    expect(after.beside).toEqual([expect.stringMatching(/^Active skills: `pdf-forms`\./)]);
    expect(after.all).toContain('BODY-OF-pdf-forms');

    const other = await kernelOf({ model: world.model, clock, sandbox: pith.sandbox });
    world.model.add({ text: 'done' });
    const { requests } = await other.run('my spreadsheet too');
    expect(sentOf(requests[0]!).beside.at(-1)).toMatch(/^Active skills: `pdf-forms`\./);
    await other.stop();
    expect((await say('and page 4?')).beside).toEqual([expect.stringMatching(/^Active skills: `sheets`, `pdf-forms`\./)]);
    expect((await say('and page 5?')).beside).toEqual([expect.stringMatching(/^Active skills: `sheets`\./)]);
  });

  it('S62 a preview shows what would be given and counts as nothing; read_skill points at what was given', async () => {
    await start(SKILLS);
    for (let look = 0; look < 2; look++) {
      const { messages } = await pith.kernel.agents.preview({ agent: 'helper', input: 'this pdf', threadId: 'test' });
      expect(JSON.stringify(messages)).toContain('BODY-OF-pdf-forms');
    }
    expect((await pith.kernel.agents.preview({ agent: 'helper', input: 'good morning' })).messages).toMatchObject([
      { content: [{ text: '[3 skills available]' }, {}] },
    ]);
    expect((await say('good morning')).beside).toEqual(['[3 skills available]']);
    const { requests } = await world.chat('this pdf', [call('read_skill', { skill_id: 'pdf-forms' })]);
    expect(sentOf(requests[0]!).beside).toHaveLength(1);
    expect(JSON.stringify(requests[1]!.messages.at(-1))).toMatch(/already loaded above/);
  });

  it('S62 max_skills of the agent, else of the settings, cuts what is not named', async () => {
    const files = { ...SKILLS, 'agents/other/manifest.yaml': agent(', max_skills: 1').replace('id: helper', 'id: other') };
    await start({ ...files, ...skill('drawings', { triggers: '{ keywords: [pdf, page] }' }) }, ', max_skills: 2');
    const message = 'a pdf page as csv, then a spreadsheet to sum';
    expect(givenIn((await say(message)).all)).toEqual(['sheets', 'drawings']);
    const { requests } = await world.turn('other', `${message}, with poems and drawings`);
    expect(givenIn(sentOf(requests[0]!).all)).toEqual(['drawings', 'poems']);
  });

  it('S62 S31 an agent meets only what it may see, and not again what it carries', async () => {
    const shut = agent(', deny: [sheets, poems]', '  uses_skills: [pdf-forms]\n').replace('id: helper', 'id: shut');
    await start({ ...SKILLS, 'agents/shut/manifest.yaml': shut });
    const { requests } = await world.turn('shut', 'sheets, poems, this pdf: what can you do?');
    const { beside, tools, system } = sentOf(requests[0]!);
    expect(beside).toEqual([]);
    expect(system).toContain('BODY-OF-pdf-forms');
    expect(tools).toEqual(['read_skill', 'read_skill_resource']);
  });

  it('S62 with no skill at all, nothing is said and no tool is brought', async () => {
    await start({});
    expect(await say('what can you do?')).toMatchObject({ beside: [], tools: [] });
  });

  it('S62 what has no room beside the message is named, and loads by read_skill', async () => {
    const tomes = skill('tomes', { triggers: '{ keywords: [pdf] }', body: 'A long line of text. '.repeat(2000) });
    await start({ ...SKILLS, ...tomes }, '', 16_000);
    const { beside } = await say('poems, a pdf');
    expect(beside.map((text) => text.slice(0, 20))).toEqual(['[Skill: poems]\nname:', '[Skill: pdf-forms]\nv', 'The skill `tomes` fi']);
    expect(beside[2]).toBe('The skill `tomes` fits too, but is too long to be shown here: load it with read_skill.');
  });

  it('S62 S64 S90 a body that other documents left no room for is not said to stand there, and not counted as loaded', async () => {
    const long = 'A long line of text. '.repeat(3600);
    await start({
      ...skill('worker', { triggers: '{ keywords: [work] }', body: long }),
      'extensions/filler/manifest.yaml': 'id: filler\nentrypoint: main.ts\nprovides: [context]\n',
      'extensions/filler/main.ts': `export default class {
        contextPriority = 10;
        getContext = async () => ({ documents: [{ key: 'filler', digest: '1', text: 'word '.repeat(40_000) }] });
      }`,
    });
    for (const input of ['this work', 'more work', 'and page 3?']) {
      const { beside } = await say(input);
      const matches = input.endsWith('work');
      expect(beside.map((text) => text.slice(0, 20))).toEqual([
        'word word word word ',
        matches ? 'The skill `worker` f' : '[1 skills available]',
      ]);
    }
    expect(world.used).toEqual([]);
    const { requests } = await world.chat('work on', [call('read_skill', { skill_id: 'worker' })]);
    expect(JSON.stringify(requests[1]!.messages.at(-1))).toContain('<skill id=');
    expect(world.used).toMatchObject([{ skillId: 'worker', how: 'read_skill' }]);
  });

  async function compact(): Promise<void> {
    world.model.add({ text: 'SUMMARY' });
    const { tokensBefore, tokensAfter } = await pith.kernel.agents.compact('test');
    expect(tokensAfter).toBeLessThan(tokensBefore);
  }
});

/** Ids of the documents, in their order. */
function givenIn(text: string): readonly string[] {
  return [...text.matchAll(/^\[Skill: (.*)\]$/gm)].map((match) => match[1]!);
}

interface Sent {
  readonly system: string;
  readonly tools: readonly string[];
  /** The texts that stand before the user's own in the newest message. */
  readonly beside: readonly string[];
  readonly all: string;
}

function sentOf({ system, messages, tools }: ModelRequest): Sent {
  const texts = textsOf(messages.at(-1)!);
  return { system, tools: tools.map(({ name }) => name).sort(), beside: texts.slice(0, -1), all: messages.flatMap(textsOf).join('\n') };
}

function textsOf({ content }: Message): readonly string[] {
  return typeof content === 'string' ? [content] : content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
}
