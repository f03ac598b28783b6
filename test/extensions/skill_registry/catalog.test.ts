import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { Clock, ContextParts } from 'pith';
import { within } from '@pith/promises';
import { fakeClock } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { catalogBudget, renderCatalog } from '../../../sandbox/extensions/skill_registry/catalog/catalog.ts';
import { briefOf, catalogLine } from '@pith/skill-files';
import { headingOf } from '../../../sandbox/extensions/skill_registry/catalog/topics.ts';
import { catalogParts } from '../../../sandbox/extensions/skill_registry/catalog/catalog-context.ts';
import { findReadable, scopeOf } from '../../../sandbox/extensions/skill_registry/catalog/scope.ts';
import { renderTurnPart } from '../../../sandbox/extensions/skill_registry/catalog/turn-part.ts';
import type { Skill } from '../../../sandbox/extensions/skill_registry/skill.ts';
import { agentOf, catalogPorts, skillOf, snapshotOf, turnOf } from './skill-values.ts';

const many = (count: number, values: Parameters<typeof skillOf>[1] = {}) =>
  Array.from({ length: count }, (_, at) =>
    skillOf(`skill-${String(at).padStart(5, '0')}`, {
      description: `Number ${at} handles a kind of document that people send around. More.`,
      ...values,
    }),
  );

const byId = (skills: readonly Skill[]) => [...skills].sort((a, b) => (a.id < b.id ? -1 : 1));

describe('the form', () => {
  it('S30 is a head, one line a skill, and how to load one', () => {
    const skills = [
      skillOf('extension-development', { description: 'How to create and modify extensions for Pith. Use it often.' }),
      skillOf('pdf', { brief: 'Short words', description: 'Long words.' }),
    ];
    expect(renderCatalog(skills, { budget: 600 })).toMatchObject({
      complete: true,
      lines: skills,
      text: [
        '[Available Skills]',
        '• `extension-development` — How to create and modify extensions for Pith. Use it often.',
        '• `pdf` — Long words.',
        'Use read_skill(skill_id) to load full instructions.',
      ].join('\n'),
    });
  });

  it('S30 has no empty catalog', () => {
    expect(renderCatalog([], { budget: 600 }).text).toBeNull();
  });

  it.each([
    ['Reads e.g. PDF files. Then stops.', 'Reads e.g. PDF files.'],
    ['Version 1.2 of x. Second.', 'Version 1.2 of x.'],
    ['Does it? Yes.', 'Does it?'],
    ['没有问题。第二句。', '没有问题。'],
    ['No full stop at all', 'No full stop at all'],
    ['two\nlines\tand  spaces', 'two lines and spaces'],
  ])('S30 takes the first sentence of %j', (description, brief) => {
    expect(briefOf({ brief: null, description })).toBe(brief);
  });

  it('S30 cuts at 160 characters, between words, never inside a character', () => {
    const long = briefOf({ brief: null, description: 'word '.repeat(100) });
    expect([...long].length).toBeLessThanOrEqual(160);
    expect(long).toMatch(/word…$/);
    const emoji = briefOf({ brief: null, description: '🦀'.repeat(300) });
    expect([...emoji]).toHaveLength(160);
    expect(emoji).not.toMatch(/\p{Cs}/u);
  });

  it('S30 T19: has no newlines; control, bidirectional and zero-width characters are shown', () => {
    const line = catalogLine(skillOf('x', { description: 'a\u0000b\u001b[31mc\r\nd\u202ee\u2066f\u200bg\ufeffh\u2028i\u{e0041}j\ud800k' }));
    expect(line).toBe(String.raw`• \`x\` — a\x00b\x1b[31mc d\u{202e}e\u{2066}f\u{200b}g h i\u{e0041}j\u{d800}k`.replaceAll('\\`', '`'));
  });
});

describe('the scope', () => {
  const snapshot = snapshotOf([
    skillOf('draw', { name: 'Drawing Things' }),
    skillOf('pdf-fill'),
    skillOf('pdf-merge'),
    skillOf('off', { state: 'disabled', reason: 'no' }),
    skillOf('wild', { state: 'untrusted' }),
  ]);
  const catalogOf = (skills: unknown, usesSkills: string[] = []) =>
    scopeOf(snapshot, agentOf({ keys: skills === undefined ? {} : { skills }, usesSkills })).catalog.map(({ id }) => id);

  it('S31 shows what is offered and what allow and deny leave, by globs', () => {
    expect(catalogOf(undefined)).toEqual(['draw', 'pdf-fill', 'pdf-merge']);
    expect(catalogOf({ allow: ['pdf-*'] })).toEqual(['pdf-fill', 'pdf-merge']);
    expect(catalogOf({ deny: ['*-fill', 'Drawing Things'] })).toEqual(['pdf-merge']);
    expect(catalogOf({ allow: ['sandbox/skills/d*'] })).toEqual(['draw']);
    expect(catalogOf({ allow: [] })).toEqual([]);
    expect(catalogOf({ deny: ['drwa', 'pdf-mergee', 'pdf'] })).toEqual(['pdf-fill']);
    expect(catalogOf({ allow: ['pdf.fill', 'pdf-fil', '(pdf'] })).toEqual([]);
  });

  it('S31 leaves out bodies that the agent carries already, though its tools can read them', () => {
    const agent = agentOf({ usesSkills: ['Drawing Things', 'off'], keys: { skills: { allow: ['pdf-fill'] } } });
    const scope = scopeOf(snapshot, agent);
    expect(scope.catalog.map(({ id }) => id)).toEqual(['pdf-fill']);
    expect([...scope.readable.keys()].sort()).toEqual(['draw', 'pdf-fill']);
    expect(findReadable(snapshot, scope, 'Drawing Things')?.id).toBe('draw');
    expect(findReadable(snapshot, scope, 'sandbox/skills/draw')?.id).toBe('draw');
    expect(findReadable(snapshot, scope, 'pdf-merge')).toBeUndefined();
    expect(findReadable(snapshot, scope, 'off')).toBeUndefined();
  });

  it('S31 shows a specialist with scope declared only what its manifest names', () => {
    expect(catalogOf({ scope: 'declared' })).toEqual([]);
    expect(catalogOf({ scope: 'declared' }, ['draw'])).toEqual([]);
    expect(catalogOf({ scope: 'declared', allow: ['pdf-merge', '*'], pinned: ['draw'] })).toEqual(['draw', 'pdf-merge']);
  });

  it('S31 matches hostile globs in linear time', () => {
    const skills = snapshotOf([skillOf('a'.repeat(20_000))]);
    expect(scopeOf(skills, agentOf({ keys: { skills: { allow: [`${'a*'.repeat(2000)}b`] } } })).catalog).toEqual([]);
  });
});

describe('the budget', () => {
  it('S32 R10 is 1 % of the window within 600 and 2,000, 2,000 where it is unknown', () => {
    expect([8_000, 100_000, 128_000, 1_000_000, null].map(catalogBudget)).toEqual([600, 1000, 1280, 2000, 2000]);
  });

  it('R12 keeps the lines of pinned skills and names the rest by first tag or source when not all fit', () => {
    const long = 'word '.repeat(60);
    const tagged = ['ape', 'bat', 'zebra'].map((id) => skillOf(id, { tags: ['animals', 'other'], description: long }));
    const skills = [...many(100, { description: long }), skillOf('lone', { tags: ['rare'], description: long }), ...tagged];
    const { text, complete, tokens } = renderCatalog(byId(skills), { budget: 1000, pinned: ['skill-00031'] });
    const lines = text!.split('\n');
    expect(complete).toBe(false);
    expect(tokens).toBeLessThanOrEqual(1000);
    expect(lines[1]).toMatch(/^• `skill-00031` — word/);
    expect(lines[2]).toMatch(/^animals: ape( \(word [^)]*\))?, bat/);
    expect(lines[3]).toMatch(/^sandbox\/skills: lone.*, skill-00000.*, skill-00001/);
    for (const { id } of skills) expect(text).toContain(id);
    expect(lines.slice(-2)).toEqual(['Use read_skill(skill_id) to load full instructions.', '103 more: search with list_skills(query)']);
  });
});

describe('the part for one message', () => {
  it('R12 shows the twelve best and those loaded before within 400 tokens', () => {
    const skills = many(40, { description: `${'ordinary words '.repeat(12)}.` });
    const { text: part, shown } = renderTurnPart({ ranked: skills.slice(0, 20), recent: [skills[30]!, skills[3]!], searchReady: true });
    const text = part!;
    expect(shown).toEqual(['skill-00030', 'skill-00003', ...skills.slice(0, 11).flatMap(({ id }) => (id === 'skill-00003' ? [] : id))]);
    expect(countTokens(text)).toBeLessThanOrEqual(400);
    expect(countTokens(text)).toBeLessThanOrEqual(400);
    expect(text).toContain('Loaded before: `skill-00030`, `skill-00003`');
    expect(text.match(/^• /gm)).toHaveLength(10);
    expect(text.match(/skill-00003/g)).toHaveLength(1);
  });

  it('R11 R12 has whole descriptions for a few skills, and short lines for what the system part lists', () => {
    const description = `Fills forms ${'of all kinds '.repeat(10)}for people. Use when a form is empty.`;
    const ranked = [skillOf('forms', { description })];
    expect(renderTurnPart({ ranked, recent: [], searchReady: true }).text).toContain(`• \`forms\` — ${description}`);
    expect(renderTurnPart({ ranked, recent: [], searchReady: true, listed: true }).text).toMatch(
      / — Fills forms .{1,50}… Use when a form is empty\.$/,
    );
  });

  it('R12 stays within 400 tokens with ids of any length, and says nothing where nothing fits', () => {
    const skills = Array.from({ length: 12 }, (_, at) => skillOf(`${at}${'技能'.repeat(60)}`, { description: '🎉'.repeat(200) }));
    const text = renderTurnPart({ ranked: skills, recent: skills.slice(0, 3), searchReady: false }).text!;
    expect(countTokens(text)).toBeLessThanOrEqual(400);
    expect(text).toContain('`0技能');
    expect(renderTurnPart({ ranked: [], recent: [], searchReady: true })).toEqual({ text: null, shown: [] });
  });

  it('S21 says so while texts are still being indexed', () => {
    expect(renderTurnPart({ ranked: many(1), recent: [], searchReady: false }).text).toContain('still being indexed');
    expect(renderTurnPart({ ranked: [], recent: [], searchReady: false }).text).toMatch(
      /^\[Skills for this message\]\n.*still being indexed/,
    );
  });
});

describe('a search index that is late', () => {
  const skills = many(300);
  const late = (prepare: Promise<void>, clock: Clock) =>
    catalogPorts({
      search: {
        prepare: async (_, waitMs) => void (await within(clock, waitMs, prepare)),
        rank: async () => ({ ranked: [{ id: skills[7]!.id, score: 1, why: [] }], ready: false, by: null, note: null }),
      },
    });

  it('R12 is waited for a quarter of a second; then the part for the message is of what is indexed, and says so', async () => {
    const clock = fakeClock();
    let parts: ContextParts | null | undefined;
    const made = catalogParts(late(new Promise(() => {}), clock), snapshotOf(skills), turnOf({ userTexts: ['number 7'] }));
    void made.then((value) => (parts = value));
    await clock.advance(249);
    expect(parts).toBeUndefined();
    await clock.advance(1);
    expect(parts!.system).toContain('300 more');
    expect(parts!.turn).toMatch(/^\[Skills for this message\]\n• `skill-00007`[^]*still being indexed/);
    expect(clock.pending()).toBe(0);
  });

  it('R12 is not waited for where only bodies are missing', async () => {
    const parts = await catalogParts(late(Promise.resolve(), fakeClock()), snapshotOf(skills), turnOf({ userTexts: ['number 7'] }));
    expect(parts!.turn).toMatch(/skill-00007[^]*still being indexed/);
  });
});

it('G12 a source in the home folder keeps its ~ as a heading', () => {
  expect(headingOf('~/.claude/skills')).toBe('~/.claude/skills');
  expect(headingOf('~~~ code')).toBe('code');
});

it('R12 no tag of a skill begins a line as Pith does', () => {
  const tags = ['[Available Skills] 0 more — search', '[System]', '`code`: do', '• `fake` — x', '# Heading', '> quote', '\u200b[Mark'];
  const skills = many(400).map((skill, at) => ({ ...skill, description: 'word '.repeat(40), tags: [tags[at % tags.length]!] }));
  const lines = renderCatalog(skills, { budget: 4000 }).text!.split('\n').slice(1, -1);
  expect(lines.filter((line) => line.includes('Available Skills'))).toHaveLength(1);
  for (const line of lines.filter((each) => !each.startsWith('• `skill-'))) expect(line).toMatch(/^[\p{L}\p{N}]/u);
  expect(lines.join('\n')).not.toMatch(/[[\]]|^\W*`?code`/m);
});
