import type { Message } from 'pith';
import { scriptedModel, testKernel, type ModelRequest, type ScriptedModel, type TestKernel } from 'pith/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { skillText } from '../skill-sandbox.ts';

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
  let pith: TestKernel;
  let model: ScriptedModel;
  beforeEach(() => {
    model = scriptedModel();
  });
  afterEach(async () => {
    await pith.stop();
  });

  async function start(files: Readonly<Record<string, string>>, settings = ''): Promise<void> {
    pith = await testKernel({
      model,
      files: {
        'agents/helper/manifest.yaml': agent(),
        'pith.yaml': `default_agent: helper\nskills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0${settings} }\n`,
        ...files,
      },
    });
  }

  /** One turn; what the model was first sent for it. */
  async function say(input: string): Promise<Sent> {
    model.add({ text: 'done' });
    const outcome = await pith.run(input);
    expect(outcome, JSON.stringify(outcome)).toMatchObject({ reason: 'done' });
    return sentOf(outcome.requests[0]!);
  }

  it('S62 S64 S65 one conversation goes through all tiers, and the system text stays as it is', async () => {
    await start(SKILLS);
    const one = await say('good morning');
    expect(one.beside).toEqual(['[3 skills available]']);
    expect(one.tools).toEqual(['read_skill', 'read_skill_resource']);

    const two = await say('so, what can you do?');
    expect(two.beside).toHaveLength(1);
    expect(two.beside[0]).toMatch(/^\[Available Skills\]\n• `pdf-forms` — Knows all about pdf-forms\.\n• `poems` — /);

    const three = await say('Extracting the totals of this PDF would help');
    expect(three.beside).toHaveLength(2);
    expect(three.beside[0]).toMatch(/^\[Skill: pdf-forms\]\n[^]*<skill id="pdf-forms" sha256="[0-9a-f]{64}">\nBODY-OF-pdf-forms\n/);
    expect(three.beside[1]).toContain('Active skills: `pdf-forms`.');

    const follow = await say('and page 3?');
    expect(follow.beside).toEqual([expect.stringMatching(/^Active skills: `pdf-forms`\./)]);
    expect(follow.all.split('BODY-OF-pdf-forms')).toHaveLength(2);
    expect([two, three, follow].map(({ system }) => system)).toEqual([one.system, one.system, one.system]);
    expect(one.system).not.toContain('pdf');
  });
});

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
