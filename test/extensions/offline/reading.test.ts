import { describe, expect, it } from 'vitest';
import { fittingPassages, sectionsOf } from '../../../sandbox/extensions/offline/passages.ts';
import { bestMatch, parseSkillList } from '../../../sandbox/extensions/offline/skill-list.ts';
import { parseSkillText } from '../../../sandbox/extensions/offline/skill-text.ts';
import { termsOf } from '../../../sandbox/extensions/offline/terms.ts';

describe('the librarian reads lists', () => {
  it('from JSON, from JSON in a string and from lines', () => {
    const expected = [{ id: 'a', description: 'First.', why: [], weak: false }];
    expect(parseSkillList({ total: 1, skills: [{ id: 'a', description: 'First.' }] })).toEqual(expected);
    expect(parseSkillList('[{"id":"a","description":"First."}]')).toEqual(expected);
    expect(parseSkillList('Found 1:\n- `a`: First.\nUse read_skill.')).toEqual(expected);
    expect(
      parseSkillList(
        'Skills for "x", 1–1 of 1, best first:\n• `a` — First. [matches: one, two]\nUse read_skill(skill_id) to load full instructions.',
      ),
    ).toEqual([{ id: 'a', description: 'First.', why: ['one', 'two'], weak: false }]);
    expect(parseSkillList('• `a` — First. [weak match; matches: one, two]\n• `b` — Second. [weak match]')).toEqual([
      { id: 'a', description: 'First.', why: ['one', 'two'], weak: true },
      { id: 'b', description: 'Second.', why: [], weak: true },
    ]);
    for (const nonsense of [null, 3, '', '{broken', {}, [1, 2]]) expect(parseSkillList(nonsense)).toEqual([]);
  });

  it('and takes the best fit, not a chance word', () => {
    const skills = parseSkillList([
      { id: 'writing', description: 'Write letters in capital style.' },
      { id: 'pdf', description: 'Extract tables from PDF files.' },
    ]);
    expect(bestMatch('extract the tables of a pdf', skills, false)?.id).toBe('pdf');
    expect(bestMatch('capital city population of France', skills, false)).toBeNull();
    expect(bestMatch('use pdf', skills, false)?.id).toBe('pdf');
    expect(bestMatch('', skills, false)).toBeNull();
  });

  it('N4 and takes the order of a search before the words of long descriptions', () => {
    const skills = parseSkillList([
      { id: 'release-notes', description: 'Writes release notes.' },
      { id: 'long', description: 'Version, release, notes, dark mode, added, and much more that is about something else.' },
    ]);
    expect(bestMatch('write the release notes of version 2.4: added dark mode', skills, true)?.id).toBe('release-notes');
  });

  it('R6 and takes the first that a search does not call weak, with one word of the question; a weak one only by its name', () => {
    const list = '• `art` — Draws. [weak match; matches: cat, team]\n• `gifs` — Makes animated emoji. [matches: gif]';
    expect(bestMatch('make a gif of a cat for the team', parseSkillList(list), true)?.id).toBe('gifs');
    expect(
      bestMatch('thanks, that was great', parseSkillList('• `art` — A great way to say thanks. [weak match; matches: great]'), true),
    ).toBeNull();
    expect(bestMatch('use art for the cat', parseSkillList(list), true)?.id).toBe('art');
  });

  it('and counts what the search found in a body', () => {
    const skills = parseSkillList([{ id: 'release', description: 'Ship it.', why: ['changelog', 'semver'] }]);
    expect(bestMatch('semver and changelog rules', skills, false)?.id).toBe('release');
  });
});

describe('the librarian reads skills', () => {
  it('W3 from an envelope of tags or of lines, without a path of the machine', () => {
    expect(parseSkillText('<skill id="a" file="/s/a/SKILL.md" sha256="0">\n# A\n\nText.\n</skill>')).toEqual({
      body: '# A\n\nText.',
      source: null,
    });
    expect(
      parseSkillText(
        'Skill: a\nsource: /s\nVersion: 1.0\nBase directory: /s/a\nApprox. tokens: 5\n\n# A\n\nText.\n\n--- end of skill a ---',
      ),
    ).toEqual({ body: '# A\n\nText.', source: null });
    const envelope =
      '[Skill: a]\nversion: none\nsha256: 0\nsource: sandbox/skills\nbase directory: /s/a\nsize: approx. 5 tokens\n\n<skill id="a" sha256="0">\n# A\n\nSay </skill> never.\n</skill>\n\n[End of skill: a, sha256 0]';
    expect(parseSkillText(envelope)).toEqual({ body: '# A\n\nSay </skill> never.', source: 'sandbox/skills' });
    expect(parseSkillText('Only a body.')).toEqual({ body: 'Only a body.', source: null });
    expect(parseSkillText({ id: 'a', source: 'bundled', directory: '/s/a', body: '# A' })).toEqual({ body: '# A', source: 'bundled' });
    expect(parseSkillText('already loaded above, sha256 1')).toBeNull();
  });

  it('keeps code blocks whole and does not take their comments for headings', () => {
    const sections = sectionsOf('# T\n\n```sh\n# not a heading\n\nrun it\n```\n\n## Next\n1. one\n2. two\n   more');
    expect(sections).toEqual([
      { headings: ['T'], blocks: ['```sh\n# not a heading\n\nrun it\n```'] },
      { headings: ['T', 'Next'], blocks: ['1. one', '2. two\n   more'] },
    ]);
  });

  it('quotes at most 1,500 characters, the best section first', () => {
    const markdown = `# T\n\n${'apple text. '.repeat(300)}\n\n## Apples\n\n${'pear '.repeat(10)}\n\n## Pears and apples\n\nA pear beside an apple.`;
    const passages = fittingPassages('pears with apples', markdown);
    expect(passages[0]?.headings.at(-1)).toBe('Pears and apples');
    expect(passages.flatMap((passage) => passage.blocks).join('').length).toBeLessThanOrEqual(1_510);
    expect(fittingPassages('bananas', markdown)).toEqual([]);
  });

  it('takes words of one stem for one, leaves out words without meaning, and pairs of characters where there are no spaces', () => {
    expect([...termsOf('What are the best practices for reviewing?')]).toEqual(['best', 'practic', 'review']);
    expect([...termsOf('代码审查')]).toEqual(['代码', '码审', '审查']);
    expect([...termsOf('')]).toEqual([]);
  });
});
