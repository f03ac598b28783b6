import type { ModelRequest } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { agent, crowd, skill, skillKernel } from '../skill_registry/skill-kernel.ts';

const HEAD = '[Skills for this message]';
const FORMS = skill('forms', { more: 'triggers: { keywords: [zugzwang], verbs: [fill] }\n' });

/** What stood beside the user's message. */
const beside = ({ messages }: ModelRequest) => {
  const text = JSON.stringify(messages.at(-1));
  return text.includes(HEAD) ? text.slice(text.indexOf(HEAD)) : '';
};

describe('S62 triggers in the mode catalog', () => {
  it('S62 a skill whose triggers match is suggested beside the message, also where the catalog names every skill', async () => {
    const { chat, print } = await skillKernel({ ...FORMS, ...skill('letters') });
    const [plain] = (await chat('write a letter')).requests;
    expect(beside(plain!)).toBe('');
    const [asked] = (await chat('filling this in, please')).requests;
    expect(beside(asked!)).toContain(`${HEAD}\\n• \`forms\` — Knows all about forms.`);
    expect(beside(asked!)).not.toContain('letters');
    expect(await print('skills stats forms')).toMatch(/suggested/i);
    const explained = await print('skills explain forms --agent reader --text filling');
    expect(explained).toContain('triggers: the text has verb fill, so it is suggested with the message');
  });

  it('S62 it stands before all that a search finds, where the catalog does not name every skill', async () => {
    const { chat } = await skillKernel({ ...FORMS, ...crowd(320, (at) => `filler-${at}`) });
    await chat('good morning'); // the ranker is ready: a turn waits one second for it at most
    const [asked] = (await chat('a zugzwang in filler-7 and filler-8')).requests;
    const lines = beside(asked!).split('\\n');
    expect(lines[1]).toContain('• `forms` — ');
    expect(lines.slice(2).join(' ')).toContain('`filler-7`');
  });

  it('S62 what an agent may not see, or has in its instructions, is not suggested', async () => {
    const { turn } = await skillKernel({
      ...FORMS,
      ...skill('letters'),
      ...agent('narrow', 'uses_tools: [skill_registry]', 'skills: { deny: [forms] }'),
      ...agent('bound', 'uses_tools: [skill_registry]', 'uses_skills: [forms]'),
      ...agent('without', 'instructions: NO TOOLS'),
    });
    for (const id of ['narrow', 'bound', 'without']) {
      const { requests } = await turn(id, 'zugzwang');
      expect(beside(requests[0]!), id).toBe('');
    }
  });
});
