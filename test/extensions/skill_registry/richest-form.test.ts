import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { catalogLine, parseSkillFile } from '@pith/skill-files';
import { mostTokens } from '@pith/token-count';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { renderCatalog } from '../../../sandbox/extensions/skill_registry/catalog/catalog.ts';
import { listResult } from '../../../sandbox/extensions/skill_registry/reading/list.ts';
import { scopeOf } from '../../../sandbox/extensions/skill_registry/catalog/scope.ts';
import type { Skill } from '../../../sandbox/extensions/skill_registry/skill.ts';
import { leastCpu } from '../../waiting.ts';
import { agentOf, skillOf, snapshotOf } from './skill-values.ts';

const SHARED = path.resolve(import.meta.dirname, '../../../../shared');
const CORPUS = path.join(SHARED, 'corpus/skills.jsonl');
const POOL = path.join(SHARED, 'retrieval/pool-1000.jsonl');
const B = 2000;

const SUBJECTS = ['invoices', 'gardens', 'ciphers', 'bridges', 'poems', 'budgets', 'lenses', 'recipes', 'timetables', 'contracts'];
const describedIn = (at: number) =>
  `Writes and checks number ${at} of the papers on ${SUBJECTS[at % 10]} with totals, dates and names. It keeps what it finds. Use when someone wants ${SUBJECTS[at % 10]} in order.`;
const made = (count: number): readonly Skill[] =>
  Array.from({ length: count }, (_, at) =>
    skillOf(`${SUBJECTS[at % 10]}-${String(at).padStart(5, '0')}`, { description: describedIn(at) }),
  ).sort((a, b) => (a.id < b.id ? -1 : 1));
const saysWhen = /use (?:only )?(?:when|for|before|after|to|if|on)|when |triggers? /i;

/** What the text says of topics. */
function topicsIn(text: string | null) {
  return [...text!.matchAll(/^([^•(\n]+) \((\d+)\)(?:: (.*))?$/gm)].map(([, name, count, ids = '']) => ({
    name: name!,
    count: Number(count),
    ids: ids.split(', ').filter((id) => id !== '…' && id !== ''),
  }));
}

function linesOf(text: string | null): readonly string[] {
  return text!.split('\n').filter((line) => line.startsWith('• '));
}

describe('R11 the richest form that has room for all', () => {
  it('R11 six skills are shown with all that they say', () => {
    const { text, limit } = renderCatalog(made(6), { budget: B });
    expect(limit).toBe(350);
    expect(linesOf(text)).toEqual(made(6).map(({ id, description }) => `• \`${id}\` — ${description}`));
  });

  it.each([60, 100])('R11 %i skills have a line each, sorted by id, and use nine tenths of the budget', (count) => {
    const { text, tokens, complete } = renderCatalog(made(count), { budget: B });
    expect(complete).toBe(true);
    expect(linesOf(text).map((line) => line.slice(3, line.indexOf('`', 3)))).toEqual(made(count).map(({ id }) => id));
    expect(tokens).toBeGreaterThan(B * 0.9);
    expect(linesOf(text).filter((line) => line.includes(' Use when '))).toHaveLength(count === 60 ? 60 : 0);
  });

  it('R11 there is no cliff: with one skill more, lines lose a quarter at most', () => {
    let before = 1;
    for (let count = 1; count <= 100; count++) {
      const { text, complete } = renderCatalog(made(count), { budget: B });
      expect(complete).toBe(true);
      const mean = linesOf(text).join('').length / count;
      expect(mean).toBeGreaterThan(before * 0.75);
      before = mean;
    }
  });

  it('R11 the length of all lines is the largest that fits', () => {
    for (const count of [60, 75, 90]) {
      const { limit } = renderCatalog(made(count), { budget: B });
      const longer = made(count).map((skill) => catalogLine(skill, limit! + 1));
      expect(longer.reduce((sum, line) => sum + mostTokens(line) + 1, 0)).toBeGreaterThan(B - 60);
      expect(linesOf(renderCatalog(made(count), { budget: B }).text)).toEqual(made(count).map((skill) => catalogLine(skill, limit!)));
    }
  });

  /** Libraries of which other things are to be said. */
  const LIBRARIES: Readonly<Record<string, (at: number) => Partial<Skill>>> = {
    'tells by words of ids': (at) => ({ id: `${SUBJECTS[at % 10]}-${String(at).padStart(5, '0')}` }),
    'tells by tags': (at) => ({ id: `skill-${String(at).padStart(5, '0')}`, tags: [SUBJECTS[at % 10]!, `team-${at}`] }),
    'tells by descriptions': (at) => ({ id: `gen-${String(at).padStart(5, '0')}` }),
    'tells nothing': (at) => ({ id: `gen-${String(at).padStart(5, '0')}`, description: 'Does what a person wants to have done.' }),
  };
  const library = (kind: string, count: number) =>
    Array.from({ length: count }, (_, at) => skillOf('x', { description: describedIn(at), ...LIBRARIES[kind]!(at) })).sort((a, b) =>
      a.id < b.id ? -1 : 1,
    );

  it.each(Object.keys(LIBRARIES))('R10 R11 of a library that %s the budget is used at every number of skills', (kind) => {
    for (const count of [60, 90, 105, 120, 150, 200, 250, 300, 400, 1000, 3000, 10_000]) {
      const { text, tokens, complete } = renderCatalog(library(kind, count), { budget: B });
      const real = countTokens(text!);
      expect(tokens, String(count)).toBeLessThanOrEqual(B);
      expect(real, String(count)).toBeLessThanOrEqual(B);
      const least = kind === 'tells nothing' && count <= 90 ? 0 : 0.7; // lines of short descriptions are whole
      expect(real, String(count)).toBeGreaterThan(B * least);
      expect(text!.split('\n').at(-1)).toMatch(
        complete ? /^Use read_skill/ : new RegExp(`^${count} more: search with list_skills\\(query\\)$`),
      );
    }
  });

  it('R11 300 skills are named, and where the budget has room for 24 characters have a line', () => {
    const named = made(300).map((skill, at) => ({
      ...skill,
      id: `${'abcdef'[at % 6]}${'abcdef'[Math.floor(at / 6) % 6]}-${SUBJECTS[Math.floor(at / 36)]}`,
    }));
    const { text, rest } = renderCatalog(named, { budget: B });
    expect(rest).toBe('names');
    for (const { id } of named) expect(text).toContain(id);
    expect(renderCatalog(named, { budget: 8000 })).toMatchObject({ complete: true, limit: expect.any(Number) });
    expect(renderCatalog(named, { budget: 8000 }).limit).toBeGreaterThanOrEqual(24);
  });

  it('R11 where names leave room, all have words behind them, or those whose ids say least', () => {
    const behind = (count: number) =>
      renderCatalog(library('tells by words of ids', count), { budget: B }).text!.match(/\(Writes/g)!.length;
    expect(behind(130)).toBe(130);
    expect(behind(200)).toBeLessThan(200);
    const opaque = [
      ...made(197).map((skill) => ({ ...skill, id: `of-${skill.id}` })),
      ...['foo', 'grok', 'xlsx'].map((id) => skillOf(id, { description: 'Writes and checks what is in it.' })),
    ];
    const text = renderCatalog(
      opaque.sort((a, b) => (a.id < b.id ? -1 : 1)),
      { budget: B },
    ).text!;
    expect(text).toMatch(/foo \(Writes.*grok \(Writes.*xlsx \(Writes/s);
  });

  it.each(['tells by words of ids', 'tells by tags', 'tells by descriptions'])(
    'R11 2,000 skills of a library that %s are counted by topic, each with as many of its ids as the others',
    (kind) => {
      const skills = library(kind, 2000);
      const { text, rest } = renderCatalog(skills, { budget: B });
      expect(rest).toBe('groups');
      const topics = topicsIn(text);
      expect(topics.map(({ name }) => name)).toEqual([...SUBJECTS].sort());
      for (const { name, count, ids } of topics) {
        expect(count).toBe(200);
        for (const id of ids) expect(JSON.stringify(skills.find((skill) => skill.id === id))).toContain(name);
      }
      const sizes = topics.map(({ ids }) => ids.length);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      expect(text).not.toContain('sandbox/skills');
    },
  );

  it('R11 no topic is of one or two, what is in none stands last, and a word that all share is none', () => {
    const odd = Array.from('abcdefghij', (letter, at) =>
      skillOf(`zz-${letter.repeat(3)}`, { description: `Q${letter.repeat(4)}`, tags: at < 2 ? ['two'] : [] }),
    );
    const topics = topicsIn(renderCatalog([...library('tells by descriptions', 1990), ...odd], { budget: B }).text);
    expect(topics.reduce((sum, { count }) => sum + count, 0)).toBe(2000);
    for (const { name, count } of topics) expect(count, name).toBeGreaterThanOrEqual(3);
    expect(topics.map(({ name }) => name)).not.toContain('gen');
    const nothing = renderCatalog(library('tells nothing', 3500), { budget: B }).text!;
    expect(nothing.split('\n')[1]).toMatch(/^For example: gen-00000, gen-0\d+, .*, …$/);
  });

  it('R11 a large topic is counted by its tag, whatever the case, and others by the words of ids that skills share', () => {
    const skills = made(2000).map((skill, at) => (at % 2 === 0 ? { ...skill, tags: [at % 4 === 0 ? 'Paper' : 'paper'] } : skill));
    const topics = topicsIn(renderCatalog(skills, { budget: B }).text);
    expect(topics.find(({ name }) => name === 'paper')?.count).toBe(1000);
    expect(topics.length).toBe(11);
  });

  it('R11 the same skills have the same bytes', () => {
    for (const count of [100, 300, 2000])
      expect(renderCatalog(made(count), { budget: B })).toEqual(renderCatalog(made(count), { budget: B }));
  });

  it('R12 pinned skills have the richest lines that the names of the others leave room for', () => {
    const pinned = ['bridges-00003', 'gardens-00001'];
    const { text, lines, tokens } = renderCatalog(made(150), { budget: B, pinned });
    expect(lines.map(({ id }) => id)).toEqual(pinned);
    expect(linesOf(text)[0]).toBe(`• \`bridges-00003\` — ${describedIn(3)}`);
    expect(tokens).toBeLessThanOrEqual(B);
    expect(text!.split('\n').at(-1)).toBe('148 more: search with list_skills(query)');
  });

  it('R11 10,000 skills hold the event loop for less than 50 ms, also where all are pinned', async () => {
    const skills = made(10_000);
    for (const pinned of [[], skills.map(({ id }) => id)])
      expect(await leastCpu(() => renderCatalog(skills, { budget: B, pinned }), 50)).toBeLessThan(50);
  });

  it('R11 list_skills shows whole descriptions, cut at 350 characters', () => {
    const scope = scopeOf(snapshotOf([...made(1), skillOf('long', { description: 'word '.repeat(200) })]), agentOf());
    const result = listResult(scope, { query: '', limit: 8, offset: 0 }, null);
    const lines = linesOf(result.ok ? String(result.output) : null);
    expect(lines[0]).toContain(describedIn(0));
    expect(lines[1]!.length).toBeGreaterThan(300);
    expect(lines[1]!.length).toBeLessThan(370);
  });
});

function read<T>(file: string): readonly T[] {
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T);
}

function unique(skills: readonly Skill[]): readonly Skill[] {
  return [...new Map(skills.map((skill) => [skill.id, skill])).values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

describe.skipIf(!existsSync(CORPUS))('R11 real skills (skipped where the corpus is not there)', () => {
  it('R11 all of them have a line, and each that says when to use it says so there', async () => {
    const skills: Skill[] = [];
    for (const { path: file, text } of read<{ path: string; text: string }>(CORPUS)) {
      const id = path.basename(path.dirname(file));
      const { fields } = await parseSkillFile(text, { id, file: `/${file}`, mode: 'load' });
      skills.push(skillOf(id, fields));
    }
    const { text, complete, tokens } = renderCatalog(unique(skills), { budget: B });
    expect(complete).toBe(true);
    expect(tokens).toBeGreaterThan(B * 0.9);
    const silent = unique(skills).filter(
      ({ description }, at) => /\buse (?:this skill )?when\b/i.test(description) && !saysWhen.test(linesOf(text)[at]!),
    );
    expect(silent.map(({ id }) => id)).toEqual([]);
  });
});

describe.skipIf(!existsSync(POOL))('R11 a thousand real skills (skipped where the pool is not there)', () => {
  const pool = existsSync(POOL)
    ? unique(read<Skill>(POOL).map(({ id, description, tags }) => skillOf(path.basename(id), { description, tags })))
    : [];
  const some = (count: number) => pool.filter((_, at) => at % Math.floor(pool.length / count) === 0).slice(0, count);

  it.each([60, 100, 130, 200, 300, 500, 900])('R10 R11 %i of them use their share of the budget', (count) => {
    const { text, tokens, complete } = renderCatalog(some(count), { budget: B });
    expect(complete).toBe(count <= 130);
    expect(tokens).toBeLessThanOrEqual(B);
    expect(countTokens(text!) / B).toBeGreaterThan(0.7);
    expect(countTokens(text!) / B).toBeLessThanOrEqual(1);
    for (const { name, count: size } of topicsIn(text)) expect(size, name).toBeGreaterThanOrEqual(3);
  });

  it('R11 up to 60 each that says when to use it says so in its line', () => {
    const lines = linesOf(renderCatalog(some(60), { budget: B }).text);
    const silent = some(60).filter(
      ({ description }, at) => /[.] use (?:this skill )?when\b/i.test(description) && !saysWhen.test(lines[at]!),
    );
    expect(silent.map(({ id }) => id)).toEqual([]);
  });
});
