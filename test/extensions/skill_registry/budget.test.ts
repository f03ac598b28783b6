import fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { type Catalog, renderCatalog } from '../../../sandbox/extensions/skill_registry/catalog/catalog.ts';
import { catalogParts } from '../../../sandbox/extensions/skill_registry/catalog/catalog-context.ts';
import { ScopeCache } from '../../../sandbox/extensions/skill_registry/catalog/scope.ts';
import { mostTokens } from '@pith/token-count';
import { renderTurnPart } from '../../../sandbox/extensions/skill_registry/catalog/turn-part.ts';
import { agentSkillsSchema } from '../../../sandbox/extensions/skill_registry/config.ts';
import { Bm25fRanker } from '@pith/word-ranker';
import { documentOf } from '../../../sandbox/extensions/skill_registry/search/ranker-feed.ts';
import type { Skill, Snapshot } from '../../../sandbox/extensions/skill_registry/skill.ts';
import { agentOf, catalogPorts, skillOf, snapshotOf, turnOf } from './skill-values.ts';

const isLong = process.env['PITH_TEST_LONG'] === '1';
const SIZES = [0, 1, 12, 100, 1000, 10_000, ...(isLong ? [25_000] : [])];
const BUDGETS = [100, 600, 1280, 2000];

const many = (count: number, values: (at: number) => Partial<Skill> = () => ({})) =>
  Array.from({ length: count }, (_, at) =>
    skillOf(`skill-${String(at).padStart(5, '0')}`, { description: `Number ${at} handles a kind of document.`, ...values(at) }),
  );

/** What the estimate must never fall below. */
const tokensOf = (text: string | null) => countTokens(text ?? '');

/** What the catalog tells of how many skills: by a line, by name, or in the counts. */
function told({ text, lines, rest }: Catalog) {
  const more = /^(\d+) more: search with list_skills\(query\)$/.exec(text?.split('\n').at(-1) ?? '');
  return { lines: lines.length, more: more === null ? 0 : Number(more[1]), rest };
}

const PIECES = fc.constantFrom(
  'ordinary words of a sentence',
  '创建和编辑电子表格',
  'スプレッドシート',
  'สร้างและแก้ไข',
  '스프레드시트',
  '🎉🦀👩‍👩‍👧‍👦🏳️‍🌈',
  'İş raporları için',
  'def f(x): return {**x, "y": [1, 2]}',
  'a94a8fe5ccb19ba61c4c0873d391e987982fbbd3',
  'XKCDQZJ',
  '!!@@##$$%%^^&&',
  'ለንግድ ሪፖርቶች',
  'Geschäftsführer',
  '該工具可協助您撰寫繁體中文合約',
  'Ստեղծում է աղյուսակներ',
  'ქმნის ცხრილებს',
  'స్ప్రెడ్‌షీట్‌లను',
  'யூனிகோட் விரிதாள்',
  'Tạo và chỉnh sửa bảng tính',
  '🏴󠁧󠁢󠁥󠁮󠁧󠁿🛠️👩🏽‍🚀',
  'יוצר ועורך גיליונות',
  'ɸʃʒ ѠѡѢ',
  '4f9d-11ee-be56-0242ac120002',
  'https://example.org/a?b=c&d=%20e',
  '\u202e\u200b\u0000',
  '∑∫√≠→⇒',
  'ᚠᛇᚻ᛫ᛒᛦᚦ',
  'mañana à côté',
);
const WORDS = fc.array(PIECES, { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join(' '));

describe('the size of the catalog', () => {
  it.each(SIZES)(
    'R10 with %i skills it is never above its budget, and says of each whether it has a line or is among the rest',
    (count) => {
      const kinds = [many(count), many(count, (at) => ({ tags: [`tag-${at % 997}`] })), many(count, (at) => ({ tags: [`tag-${at}`] }))];
      for (const skills of kinds) {
        for (const budget of BUDGETS) {
          const catalog = renderCatalog(skills, { budget, pinned: skills.slice(5, 9).map(({ id }) => id) });
          expect(tokensOf(catalog.text)).toBeLessThanOrEqual(budget);
          expect(catalog.text === null).toBe(count === 0);
          const { lines, more } = told(catalog);
          expect(lines + more).toBe(count); // none is dropped silently
          expect(catalog.text?.match(/^• /gm) ?? []).toHaveLength(lines);
        }
      }
    },
  );

  it('R10 whatever skills are called and say, real tokenisers count no more than the budget', () => {
    const one = fc.record({ id: WORDS, description: WORDS, tag: WORDS });
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 40 }), fc.integer({ min: 100, max: 2000 }), (values, budget) => {
        const skills = values.map(({ id, description, tag }, at) => skillOf(`${id} ${at}`, { description, tags: [tag] }));
        const { text, tokens } = renderCatalog(skills, { budget, pinned: skills.slice(0, 3).map(({ id }) => id) });
        expect(tokensOf(text)).toBeLessThanOrEqual(tokens);
        expect(tokens).toBeLessThanOrEqual(budget);
        const part = renderTurnPart({ ranked: skills, recent: skills.slice(-2), searchReady: false }).text;
        expect(tokensOf(part)).toBeLessThanOrEqual(400);
      }),
      { numRuns: 60, seed: 5 },
    );
  });

  it('R10 the estimate errs on the safe side, by a quarter at most on the other for letters that no vocabulary has', () => {
    const short = fc
      .sample(WORDS, { numRuns: 150, seed: 7 })
      .filter((text) => tokensOf(text.repeat(4)) > 1.25 * mostTokens(text.repeat(4)));
    expect(short).toEqual([]);
  });

  it('R10 an agent may ask for 100 to 20,000 tokens; other values are refused in words', () => {
    const budget = (budget_tokens: unknown) => agentSkillsSchema().safeParse({ budget_tokens });
    for (const tokens of [100, 599, 2001, 20_000]) expect(budget(tokens).data?.budget_tokens).toBe(tokens);
    for (const tokens of [99, 20_001, 0, -1, 600.5, '600', null])
      expect(budget(tokens).error?.issues[0]?.message).toBe('must be a whole number of tokens from 100 to 20000');
  });

  it('R10 speaks of the skills of its agent only', () => {
    const snapshot = snapshotOf(many(1000));
    const view = (allow: string[]) => new ScopeCache().view(snapshot, agentOf({ keys: { skills: { allow } } }), null).catalog;
    expect(told(view(['skill-0000*']))).toEqual({ lines: 10, more: 0, rest: null });
    expect(told(view(['skill-000*']))).toEqual({ lines: 100, more: 0, rest: null });
    expect(told(view(['skill-000*', 'skill-001*']))).toEqual({ lines: 0, more: 200, rest: 'names' });
  });
});

describe('what does not fit', () => {
  it('R12 pinned skills that are many get shorter lines, all alike; that they are pinned is said of those without one', () => {
    const words = 'word '.repeat(60);
    const skills = many(300, () => ({ description: words }));
    const pinned = (count: number) => skills.slice(0, count).map(({ id }) => id);
    const lengths = [2, 20, 40].map((count) => {
      const { lines, text } = renderCatalog(skills, { budget: 1000, pinned: pinned(count) });
      expect(lines).toHaveLength(count);
      return Math.max(...text!.split('\n').flatMap((line) => (line.startsWith('• ') ? line.length : [])));
    });
    expect(lengths).toEqual([...lengths].sort((a, b) => b - a));
    expect(lengths[0]).toBeGreaterThan(150);
    const none = renderCatalog(skills, { budget: 1000, pinned: ['skill-00250', ...pinned(250)] });
    expect(none.lines.map(({ id }) => id)).toContain('skill-00250'); // who is pinned first comes first
    expect(none.text).toMatch(/\nalso pinned \(\d+\): skill-\d+, .*, …\nother \(49\): skill-\d+, .*, …\nUse/);
    const { lines, more } = told(none);
    expect(lines + more).toBe(300);
  });

  it('R12 what is pinned twice or is not there takes no room', () => {
    const skills = many(200);
    expect(renderCatalog(skills, { budget: 600, pinned: ['skill-00007', 'skill-00007', 'gone'] }).lines.map(({ id }) => id)).toEqual([
      'skill-00007',
    ]);
  });
});

/** The turn part of `turns` turns over these skills, for a text. */
async function shownIn(skills: readonly Skill[], text: string, turns: number): Promise<(string | null)[]> {
  const ranker = new Bm25fRanker();
  for (const skill of skills) ranker.upsert(documentOf(skill, ''));
  const search = {
    prepare: async () => undefined,
    rank: async (_: Snapshot, query: string, options: { among?: (id: string) => boolean; k: number; weak?: boolean; seed?: string }) => ({
      ranked: ranker.rank(query, options),
      ready: true,
      by: null,
      note: null,
    }),
  };
  const snapshot = snapshotOf(skills);
  const parts: (string | null)[] = [];
  for (let at = 0; at < turns; at++) {
    const made = await catalogParts(
      catalogPorts({ search }),
      snapshot,
      turnOf({ id: `turn-${at}`, userTexts: [text], model: { ref: 'test/model', contextWindow: 8000 } }),
    );
    parts.push(made?.turn ?? null);
  }
  return parts;
}

describe('who is shown', () => {
  it('R14 no place is filled for a message that fits nothing: there is no skill that it shows before another', async () => {
    expect(await shownIn(many(300), 'zzz qqq', 3)).toEqual([null, null, null]);
  });

  it('R14 of skills that fit equally well each is shown as often as the others, whatever it is called', async () => {
    const turns = isLong ? 600 : 240;
    const parts = await shownIn(
      many(60, () => ({ description: 'Writes reports of all kinds for whoever wants one to read.' })),
      'reports',
      turns,
    );
    const times = new Map<string, number>();
    for (const part of parts) for (const [, id] of part!.matchAll(/^• `(.+?)`/gm)) times.set(id!, (times.get(id!) ?? 0) + 1);
    const expected = (turns * 12) / 60;
    expect(times.size).toBe(60);
    const chi = [...times.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    expect(chi).toBeLessThan(100); // 59 degrees of freedom: a fair draw stays below in 999 of 1,000 cases, and this one is always the same
  });

  it('R14 R12 the same turn has the same bytes each time it is asked for', async () => {
    const skills = many(60, () => ({ description: 'Writes reports of all kinds for whoever wants one to read.' }));
    expect(await shownIn(skills, 'reports', 4)).toEqual(await shownIn(skills, 'reports', 4));
  });
});
