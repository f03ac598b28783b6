import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSkillFile } from '@pith/skill-files';
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

  it('R11 300 skills are named, or have a line where the budget has room for 40 characters', () => {
    const named = made(300).map((skill, at) => ({
      ...skill,
      id: `${'abcdef'[at % 6]}${'abcdef'[Math.floor(at / 6) % 6]}-${SUBJECTS[Math.floor(at / 36)]}`,
    }));
    const { text, rest, tokens } = renderCatalog(named, { budget: B });
    expect(rest).toBe('names');
    for (const { id } of named) expect(text).toContain(id);
    expect(tokens).toBeGreaterThan(B * 0.6);
    expect(renderCatalog(named, { budget: 8000 })).toMatchObject({ complete: true, limit: expect.any(Number) });
  });

  it('R11 2,000 skills are counted by topic; no topic is a source, none has fewer than three skills, and all are counted', () => {
    const { text, rest } = renderCatalog(made(1990).concat(made(10).map((skill, at) => ({ ...skill, id: `z${'abcdefghij'[at]}` }))), {
      budget: B,
    });
    expect(rest).toBe('groups');
    const counts = [...text!.match(/^Groups: (.*)$/m)![1]!.matchAll(/([^,]+?) \((\d+)\)/g)].map(
      ([, name, count]) => [name!.trim(), Number(count)] as const,
    );
    expect(new Set(counts.map(([name]) => name))).toEqual(new Set(SUBJECTS));
    expect(counts.reduce((sum, [, count]) => sum + count, 0)).toBe(1990);
    expect(text).toContain('other: za, zb, zc, zd, ze, zf, zg, zh, zi, zj\n'); // no count says anything of these
    expect(text!.split('\n').at(-1)).toBe('2000 more: search with list_skills(query)');
    expect(text).not.toContain('sandbox/skills');
  });

  it('R11 skills that share no topic are only counted as more', () => {
    const skills = Array.from({ length: 3500 }, (_, at) => skillOf(`skill-${String(at).padStart(5, '0')}`));
    expect(renderCatalog(skills, { budget: B }).text!.split('\n')).toHaveLength(3);
  });

  it('R11 a large topic is counted by its tag, whatever the case, and small ones by the words of ids that skills share', () => {
    const skills = made(2000).map((skill, at) => (at % 2 === 0 ? { ...skill, tags: [at % 4 === 0 ? 'Paper' : 'paper'] } : skill));
    expect(renderCatalog(skills, { budget: B }).text).toMatch(/^Groups: paper \(1000\), \w+ \(1\d\d\), /m);
  });

  it('R12 pinned skills have the richest lines that the names of the others leave room for', () => {
    const pinned = ['bridges-00003', 'gardens-00001'];
    const { text, lines, tokens } = renderCatalog(made(150), { budget: B, pinned });
    expect(lines.map(({ id }) => id)).toEqual(pinned);
    expect(linesOf(text)[0]).toBe(`• \`bridges-00003\` — ${describedIn(3)}`);
    expect(tokens).toBeLessThanOrEqual(B);
    expect(text!.split('\n').at(-1)).toBe('148 more: search with list_skills(query)');
  });

  it.each([2000, 20_000])(
    'R11 10,000 skills hold the event loop for less than 50 ms, also where all are pinned (budget %i)',
    async (budget) => {
      const skills = made(10_000);
      const pinned = skills.map(({ id }) => id);
      for (const options of [{ budget }, { budget, pinned }]) {
        expect(await leastCpu(() => renderCatalog(skills, options), 50)).toBeLessThan(50);
      }
    },
  );

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

  it.each([
    [6, 0.1, 0.5],
    [60, 0.9, 1],
    [100, 0.8, 1],
    [300, 0.8, 1],
    [900, 0.6, 1],
  ])('R10 R11 %i of them use their share of the budget', (count, least, most) => {
    const { tokens, complete } = renderCatalog(some(count), { budget: B });
    expect(complete).toBe(count <= 100);
    expect(tokens / B).toBeGreaterThan(least);
    expect(tokens / B).toBeLessThanOrEqual(most);
  });

  it('R11 up to 60 each that says when to use it says so in its line', () => {
    const lines = linesOf(renderCatalog(some(60), { budget: B }).text);
    const silent = some(60).filter(
      ({ description }, at) => /[.] use (?:this skill )?when\b/i.test(description) && !saysWhen.test(lines[at]!),
    );
    expect(silent.map(({ id }) => id)).toEqual([]);
  });
});
