import { describe, expect, it } from 'vitest';
import { mostTokens } from '@pith/token-count';
import {
  asksForCapabilities,
  CAPABILITY_MESSAGES,
  CAPABILITY_PHRASES,
  decide,
} from '../../../sandbox/extensions/skill_triggers/decision.ts';
import { PatternCache } from '../../../sandbox/extensions/skill_triggers/pattern-cache.ts';
import { registryText } from '../../../sandbox/extensions/skill_triggers/message-parts.ts';
import { TriggerIndex } from '../../../sandbox/extensions/skill_triggers/trigger-index.ts';
import type { SkillRecord as Skill } from 'pith/skill_registry';
import { skillOf, recordsOf } from '../skill_registry/skill-values.ts';

const by = (keywords: readonly string[], verbs: readonly string[] = [], patterns: readonly string[] = []) => ({
  triggers: { keywords, verbs, patterns },
});

interface Case {
  readonly skills: readonly Skill[];
  readonly text: string;
  readonly maxSkills?: number;
  readonly recent?: readonly string[];
  readonly active?: readonly string[];
  readonly keys?: Readonly<Record<string, unknown>>;
  readonly usesSkills?: readonly string[];
}

async function decided({ skills, text, maxSkills = 3, recent = [], active = [], keys = {}, usesSkills = [] }: Case) {
  const records = recordsOf(skills, { keys: { skills: keys }, usesSkills });
  const index = await TriggerIndex.of(records, new PatternCache());
  const decision = await decide({ records, index, text, maxSkills, recent, matched: active });
  return { tier: decision.tier, chosen: decision.chosen.map(({ id }) => id), active: decision.active.map(({ id }) => id) };
}

describe('S62 the tier of a message', () => {
  const plain = skillOf('plain');
  const pdf = skillOf('pdf-tool', by(['pdf']));
  it.each<[string, Case, number, readonly string[]]>([
    ['no skill', { skills: [], text: 'what can you do?' }, 0, []],
    ['only bound skills', { skills: [plain], text: 'what can you do?', usesSkills: ['plain'] }, 0, []],
    ['only denied skills', { skills: [pdf], text: 'a pdf', keys: { deny: ['*'] } }, 0, []],
    ['nothing fits', { skills: [plain, pdf], text: 'good morning' }, 1, []],
    ['an empty message', { skills: [plain, pdf], text: '' }, 1, []],
    ['asked what there is', { skills: [plain, pdf], text: 'What can you do?' }, 2, []],
    ['no skill has triggers', { skills: [plain], text: 'good morning' }, 2, []],
    ['only denied ones have triggers', { skills: [plain, pdf], text: 'a pdf', keys: { deny: ['pdf-*'] } }, 2, []],
    ['a trigger', { skills: [plain, pdf], text: 'this pdf' }, 3, ['pdf-tool']],
    ['a trigger outranks the question', { skills: [plain, pdf], text: 'what can you do with a pdf?' }, 3, ['pdf-tool']],
    ['a skill without triggers, by name', { skills: [plain, pdf], text: 'use plain' }, 3, ['plain']],
    ['a bound skill is not repeated', { skills: [plain, pdf], text: 'this pdf', usesSkills: ['pdf-tool'] }, 2, []],
  ])('%s', async (_title, input, tier, chosen) => {
    expect(await decided(input)).toEqual({ tier, chosen, active: [] });
  });

  it('S64 what an earlier message brought stays in, beside every tier', async () => {
    const skills = [plain, pdf];
    expect(await decided({ skills, text: 'and page 3?', active: ['pdf-tool'] })).toEqual({ tier: 3, chosen: [], active: ['pdf-tool'] });
    expect(await decided({ skills, text: 'list skills', active: ['pdf-tool'] })).toEqual({ tier: 2, chosen: [], active: ['pdf-tool'] });
    expect(await decided({ skills, text: 'plain', active: ['pdf-tool'] })).toEqual({ tier: 3, chosen: ['plain'], active: ['pdf-tool'] });
    expect(await decided({ skills, text: 'pdf', active: ['pdf-tool', 'gone'] })).toEqual({ tier: 3, chosen: ['pdf-tool'], active: [] });
    expect(await decided({ skills, text: 'so?', active: ['pdf-tool'], keys: { deny: ['pdf-tool'] } })).toMatchObject({ active: [] });
  });
});

describe('S62 the rank of matches', () => {
  const skills = [
    skillOf('a-one', by(['alpha'])),
    skillOf('b-one', by(['alpha'])),
    skillOf('c-two', by(['alpha', 'beta'])),
    skillOf('d-pattern', by([], [], ['gam+a'])),
    skillOf('e-phrase', by(['delta epsilon'])),
    skillOf('f-named', by([])),
    skillOf('g-verb', by(['alpha'], ['sort'])),
  ];
  const all = 'f-named: delta epsilon, gamma, alpha and beta';
  it.each<[string, Partial<Case>, readonly string[]]>([
    ['named, phrase, pattern', { text: all }, ['f-named', 'e-phrase', 'd-pattern']],
    ['then hits', { text: all, maxSkills: 4 }, ['f-named', 'e-phrase', 'd-pattern', 'c-two']],
    ['then id', { text: all, maxSkills: 6 }, ['f-named', 'e-phrase', 'd-pattern', 'c-two', 'a-one', 'b-one']],
    ['recent use before id', { text: 'alpha', recent: ['b-one', 'g-verb'], maxSkills: 2 }, ['b-one', 'g-verb']],
    ['hits before recent use', { text: 'alpha beta', recent: ['b-one'], maxSkills: 2 }, ['c-two', 'b-one']],
    ['verbs are hits', { text: 'sorting alpha', maxSkills: 1 }, ['g-verb']],
    ['a trigger that stands there twice is one hit', { text: 'alpha alpha alpha, sort', maxSkills: 1 }, ['g-verb']],
    ['what is named is never cut', { text: 'a-one, b-one, c-two, f-named', maxSkills: 1 }, ['a-one', 'b-one', 'c-two', 'f-named']],
    ['what is named goes before what fits better', { text: 'f-named for delta epsilon', maxSkills: 1 }, ['f-named']],
  ])('%s', async (_title, values, chosen) => {
    expect((await decided({ skills, text: '', ...values })).chosen).toEqual(chosen);
  });
});

describe('S62 capability questions', () => {
  it.each([...CAPABILITY_PHRASES, ...CAPABILITY_MESSAGES])('%s', (phrase) => {
    expect(asksForCapabilities(phrase)).toBe(true);
    expect(asksForCapabilities(` ${phrase.toUpperCase()} `)).toBe(true);
  });
  it.each(['Hey, what can you do for me?', 'Please show me your skills', 'Help!', 'skills?', 'Which skills are there?'])('%s', (text) => {
    expect(asksForCapabilities(text)).toBe(true);
  });
  it.each(['', '!', 'help me write a letter', 'his skills are great', 'what do you know about cats', 'what can he do'])(
    'not: %s',
    (text) => {
      expect(asksForCapabilities(text)).toBe(false);
    },
  );
});

describe('S62 the list of tier 2', () => {
  const crowd = (count: number, description = 'Explains one subject at some length, with examples and with hints for every day.') =>
    Array.from({ length: count }, (_, at) => skillOf(`subject-${String(at).padStart(5, '0')}`, { description }));

  it.each([1, 5, 12, 20, 40, 79, 80, 300, 10_000])('of %d skills has at most 400 tokens, and says what it leaves out', (count) => {
    const { text, listed } = registryText(crowd(count), ['Active skills: `x`.']);
    expect(mostTokens(`Active skills: \`x\`.\n${text}`)).toBeLessThanOrEqual(400);
    const more = Number(/^(\d+) more — name one/m.exec(text)?.[1] ?? 0);
    expect(new Set(text.match(/subject-\d+/g)).size).toBe(listed);
    expect(listed + more).toBe(count);
    expect(text.startsWith('[Available Skills]\n• `subject-00000` — ')).toBe(true);
  });

  it('holds its bound with names of any length and script', () => {
    const skills = Array.from({ length: 60 }, (_, at) => skillOf(`契約書-${'長'.repeat(60)}-${at}`, { description: '契約'.repeat(200) }));
    expect(mostTokens(registryText(skills).text)).toBeLessThanOrEqual(400);
    expect(registryText(skills).text).toMatch(/60 more — name one|5\d more — name one/);
  });
});
