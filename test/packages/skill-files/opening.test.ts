import { describe, expect, it } from 'vitest';
import { parseSkillFile } from '@pith/skill-files';

const load = (text: string) => parseSkillFile(text, { id: 'demo', file: '/demo/SKILL.md', mode: 'load' });
const codes = async (text: string) => (await load(text)).diagnostics.map(({ severity, code }) => `${severity} ${code}`);

describe('a skill that does not describe itself (S3)', () => {
  it('S3 without frontmatter the heading is its name and the first paragraph its description, with a warning', async () => {
    const text = '# Count letters #\n\nCounts the letters\nof a word.\n\nMore.\n';
    const { valid, fields } = await load(text);
    expect([valid, fields.name, fields.description]).toEqual([true, 'Count letters', 'Counts the letters of a word.']);
    expect(await codes(text)).toEqual(['warning frontmatter_missing', 'warning description_taken_from_text', 'warning name_missing']);
  });

  it.each([
    ['a text alone', 'Counts letters.\n', 'demo', 'Counts letters.'],
    ['a heading between paragraphs', 'One.\n# Two\nThree.\n', 'demo', 'One.'],
    ['a ruler first', '***\n\n> Quoted.\n', 'demo', 'Quoted.'],
    ['a description that is blank', '---\nname: demo\ndescription: ""\n---\n# Title\nCounts.\n', 'demo', 'Counts.'],
    ['no description', '---\ntags: [a]\n---\n# Title\nCounts.\n', 'Title', 'Counts.'],
    ['very long', `${'word '.repeat(5000)}\n`, 'demo', expect.stringMatching(/^(?:word )+.*…$/)],
  ])('S3 %s', async (_what, text, name, description) => {
    const { valid, fields } = await load(text);
    expect([valid, fields.name, fields.description]).toEqual([true, name, description]);
    expect([...fields.description].length).toBeLessThanOrEqual(1024);
  });

  it.each([
    ['nothing but a heading', '# Title\n'],
    ['nothing', ''],
    ['code alone', '```\nls\n```\n'],
    ['a line that is nearly three dashes', '----\nname: demo\ndescription: Does it.\n----\nText.\n'],
    ['a description that is a list', '---\nname: demo\ndescription: [a]\n---\nText.\n'],
  ])('S3 stays invalid: %s', async (_what, text) => expect((await load(text)).valid).toBe(false));

  it('S3 lint holds it to the specification', async () => {
    const { valid, diagnostics } = await parseSkillFile('# T\n\nText.\n', { id: 'demo', file: '/demo/SKILL.md', mode: 'lint' });
    expect([valid, diagnostics.map(({ code }) => code)]).toEqual([false, ['frontmatter_missing']]);
  });
});
