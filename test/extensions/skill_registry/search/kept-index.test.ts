import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { openCacheFile } from '../../../../core/storage/cache-file.ts';
import { openDatabase } from '../../../../core/storage/open-database.ts';
import { stampOf, statOf, toFileStamp } from '../../../../sandbox/extensions/skill_registry/scan/stamp.ts';
import type { Skill } from '../../../../sandbox/extensions/skill_registry/skill.ts';
import { documentVersion } from '../../../../sandbox/extensions/skill_registry/search/document.ts';
import { createRanker } from '../../../../sandbox/extensions/skill_registry/search/bm25f.ts';
import { CatalogDb } from '../../../../sandbox/extensions/skill_registry/search/catalog-db.ts';
import { BODY_CHARACTERS, type SearchDocument, type StoredRanker } from '../../../../sandbox/extensions/skill_registry/search/ranker.ts';
import { ftsTexts, matchesOf } from '../../../../sandbox/extensions/skill_registry/search/full-text.ts';
import { toRankerDocument } from '../../../../sandbox/extensions/skill_registry/search/other-ranker.ts';
import { queryTerms } from '../../../../sandbox/extensions/skill_registry/search/tokens.ts';
import { rankByFullText, rankCandidates } from '../../../../sandbox/extensions/skill_registry/search/rescoring.ts';
import { countDocument } from '../../../../sandbox/extensions/skill_registry/search/term-index.ts';
import { skillSandbox, systemClock } from '../skill-sandbox.ts';
import path from 'node:path';

const documents: SearchDocument[] = Array.from({ length: 400 }, (_, at) => ({
  id: `skill-${at}`,
  version: `1 ${at} v`,
  name: `Skill ${at} é`,
  tags: at % 3 === 0 ? ['third'] : [],
  description: `Handles subject${at % 7} and topic${at}.`,
  examples: [`please do ${at}`],
  body: `word${at % 13} `.repeat(at % 40) + '水墨画の描き方',
}));
const queries = [
  'subject3 topic10',
  'word5',
  'third',
  '水墨',
  'skill-12',
  'topic99 please',
  'toipc310',
  'handles subject3',
  'subject2 word7 do',
];
const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

async function catalogOf(...written: SearchDocument[]): Promise<CatalogDb> {
  const { sandbox } = await skillSandbox();
  const catalog = await CatalogDb.open({
    openCache: (name, layout) => openCacheFile({ file: path.join(sandbox, `${name}.db`), layout, clock: systemClock, logger }),
  });
  await put(catalog, ...written);
  return catalog;
}

const put = (catalog: CatalogDb, ...all: SearchDocument[]) =>
  catalog.write(
    all.map((document) => ({ document, counted: countDocument(document) })),
    new Map(),
  );

function loaded(catalog: CatalogDb, bodies = true): StoredRanker {
  const ranker = createRanker();
  expect([...ranker.load(catalog, { bodies })].length).toBeGreaterThan(2);
  return ranker;
}

function counted(all: readonly SearchDocument[]): StoredRanker {
  const ranker = createRanker();
  for (const one of all) ranker.upsert(one);
  return ranker;
}

describe('what catalog.db keeps', () => {
  it.each([
    ['name', { name: 'zebra' }, 6],
    ['tags', { tags: ['zebra'] }, 4],
    ['description', { description: 'zebra' }, 3],
  ])('R3 a word in %s counts as often as the weights 6, 4, 3 and 1 say, beside one in the body', async (_field, fields, weight) => {
    const words = 20;
    const plain = { version: '1 1 v', name: 'x', tags: ['x'], description: 'x', examples: [], body: 'x '.repeat(words) };
    const having = (id: string, times: number) => ({ ...plain, id, body: 'zebra '.repeat(times) + 'x '.repeat(words - times) });
    const order = async (times: number) => {
      const before = having('aa', times);
      const field = { ...plain, id: 'bb', ...fields };
      return (await catalogOf(before, field, having('cc', times))).best('zebra', 3);
    };
    expect(await order(weight)).toEqual(['aa', 'bb', 'cc']); // as good: in the order of rows
    expect((await order(weight + 1)).at(-1)).toBe('bb');
    expect((await order(weight - 1))[0]).toBe('bb');
  });

  it('R2 R3 of a body 20,000 characters are searched, whoever ranks', () => {
    const document = { ...documents[0]!, body: `${'x'.repeat(19_990)} early ${'y'.repeat(10)} late` };
    expect(BODY_CHARACTERS).toBe(20_000);
    expect(ftsTexts(document)[3]).toMatch(/ early y+$/);
    expect(toRankerDocument(document).body).toHaveLength(20_000);
    expect([...countDocument(document).counts.keys()]).toContain('earli');
    expect([...countDocument(document).counts.keys()]).not.toContain('late');
  });

  it('R3 brings back the same ranking, to the last digit, also after changes', async () => {
    const catalog = await catalogOf(...documents);
    const ranker = counted(documents);
    const copy = loaded(catalog);
    for (const query of queries) expect(copy.rank(query, { k: 20 })).toEqual(ranker.rank(query, { k: 20 }));
    const changed = { ...documents[5]!, version: '2 999 v', body: 'zebra crossing' };
    await put(catalog, changed);
    await catalog.write([], new Map([['skill-3', documents[3]!.version]]));
    const again = loaded(catalog);
    for (const one of [ranker, copy]) {
      one.upsert(changed);
      one.remove('skill-3');
    }
    for (const query of [...queries, 'zebra']) {
      expect(again.rank(query, { k: 20 })).toEqual(ranker.rank(query, { k: 20 }));
      expect(copy.rank(query, { k: 20 })).toEqual(ranker.rank(query, { k: 20 }));
    }
    for (let at = 0; at < 300; at++) [copy, again, ranker].forEach((one) => one.remove(`skill-${at}`));
    for (const query of queries) expect(again.rank(query, { k: 20 })).toEqual(ranker.rank(query, { k: 20 }));
    expect([again.versionOf('skill-305'), again.versionOf('skill-3'), again.size]).toEqual(['1 305 v', null, 100]);
    await catalog.close();
  });

  it('R3 an older picture takes the place of no newer one, and removes none', async () => {
    const catalog = await catalogOf({ ...documents[1]!, version: '1 200 9 9 /nowhere/SKILL.md', body: 'zebra' });
    await put(catalog, { ...documents[1]!, version: '1 100 9 9 /nowhere/SKILL.md 0123456789abcdef', body: 'walrus' });
    await catalog.write([], new Map([['skill-1', '1 100 9 9 /nowhere/SKILL.md']]));
    expect(catalog.versions()).toEqual(new Map([['skill-1', '1 200 9 9 /nowhere/SKILL.md']]));
    expect(rankByFullText(catalog, 'zebra', { k: 1 })[0]?.id).toBe('skill-1');
    expect(rankByFullText(catalog, 'walrus', { k: 1 })).toEqual([]);
    await catalog.close();
  });

  it('R3 a skill that is now in an older file is kept, and so is one that was changed after the clock was set back', async () => {
    const box = await skillSandbox({ 'a/SKILL.md': 'x', 'b/SKILL.md': 'y' });
    const [a, b] = ['a', 'b'].map((name) => {
      const file = path.join(box.project, name, 'SKILL.md');
      return { file, version: documentVersion({ stamp: toFileStamp(stampOf(statOf(file)!)), file } as Skill) };
    });
    const future = (version: string) => version.replace(/^(\d+) (\d+)/, '$1 9$2');
    const catalog = await catalogOf({ ...documents[1]!, version: future(a!.version) });
    await put(catalog, { ...documents[1]!, version: b!.version, body: 'walrus' });
    expect(catalog.versions().get('skill-1')).toBe(b!.version);
    await put(catalog, { ...documents[1]!, version: future(b!.version), body: 'zebra' });
    await put(catalog, { ...documents[1]!, version: b!.version, body: 'walrus' });
    expect(catalog.versions().get('skill-1')).toBe(b!.version);
    expect(rankByFullText(catalog, 'walrus', { k: 1 })[0]?.id).toBe('skill-1');
    await catalog.close();
  });

  it('R3 a file that has become worn by changes is made anew by the next start, without the words that no skill has any more', async () => {
    const { sandbox } = await skillSandbox();
    const file = path.join(sandbox, 'catalog.db');
    const open = () =>
      CatalogDb.open({ openCache: (_name, layout) => openCacheFile({ file, layout, clock: systemClock, logger: { ...logger } }) });
    const start = async (rounds: number) => {
      const catalog = await open();
      const count = catalog.count();
      for (let round = 0; round < rounds; round++)
        await put(
          catalog,
          ...documents.slice(0, 100).map((one) => ({ ...one, version: `${count} ${round}`, body: `word${count}x${round}` })),
        );
      await catalog.close();
      return count;
    };
    expect([await start(11), await start(1)]).toEqual([0, 100]);
    expect(await start(1)).toBe(0);
    expect((await readFile(file)).includes('word0x0')).toBe(true);
    const catalog = await open();
    expect([...catalog.terms()].flat()).not.toContain('word0x9');
    expect(catalog.count()).toBe(100);
    await catalog.close();
  });

  it('R3 one that changed writes its own rows only', async () => {
    const catalog = await catalogOf(...documents);
    const rows = () =>
      new Map([...catalog.rows()].flat().map(({ n, id, record }) => [id, `${n} ${Buffer.from(record).toString('base64')}`]));
    const before = rows();
    await put(catalog, { ...documents[7]!, version: '1 999 v', body: 'zebra' });
    const after = rows();
    expect([...after].filter(([id, row]) => before.get(id) !== row).map(([id]) => id)).toEqual(['skill-7']);
    expect(after.get('skill-7')!.split(' ')[0]).toBe(before.get('skill-7')!.split(' ')[0]);
    await catalog.close();
  });
});

describe('rows that are whole and make no sense', () => {
  async function spoilt(statement: string): Promise<CatalogDb> {
    const catalog = await catalogOf(...documents);
    const database = openDatabase(catalog.file, { settings: '', waits: false });
    database.exec(statement);
    database.close();
    return catalog;
  }

  it.each([
    [
      'records of two skills that changed places',
      "UPDATE skills SET record = (SELECT record FROM skills WHERE id = 'skill-9') WHERE id = 'skill-5'",
      /damaged/,
    ],
    ['a version that a record was not made from', "UPDATE skills SET version = '1 9 v' WHERE id = 'skill-5'", /damaged/],
    ['numbers of terms with a gap', 'UPDATE terms SET n = n + 1000000 WHERE n > 100', /missing/],
    ['a term that is gone', 'DELETE FROM terms WHERE n = 7', /missing/],
  ])('R3 %s are noticed, and the file is made anew', async (_, statement, why) => {
    const catalog = await spoilt(statement);
    expect(() => [...createRanker().load(catalog, { bodies: true })]).toThrow(why);
  });
});

describe('the full-text index alone', () => {
  it('R3 ranks for who may see few, gives the words that matched, and puts an id first', async () => {
    const catalog = await catalogOf(...documents);
    const odd = (id: string) => Number(id.slice(6)) % 2 === 1;
    const found = rankByFullText(catalog, 'subject3 topic17', { k: 5, among: odd });
    expect(found[0]).toMatchObject({ id: 'skill-17', why: ['subject3', 'topic17'] });
    expect(found.every(({ id }) => odd(id))).toBe(true);
    expect(rankByFullText(catalog, 'skill 12', { k: 3 }).map(({ id }) => id)[0]).toBe('skill-12');
    expect(rankByFullText(catalog, '水墨', { k: 3 })).toHaveLength(3);
    expect(rankByFullText(catalog, 'nothing of the kind', { k: 3 })).toEqual([]);
    expect(rankByFullText(catalog, '"; DROP * NEAR( -', { k: 3 })).toEqual([]);
    await catalog.close();
  });

  it('R3 finds by synonyms, for less, and by other forms of a word', async () => {
    const plain = { ...documents[0]!, name: 'x', tags: [], description: 'other', examples: [], body: 'other', version: '1 1 v' };
    const catalog = await catalogOf(
      { ...plain, id: 'a', description: 'compress a medical image' },
      { ...plain, id: 'b', description: 'a medical picture' },
      { ...plain, id: 'c', description: 'write in color' },
      ...documents.slice(0, 50),
    );
    expect(rankByFullText(catalog, 'shrink', { k: 9 }).map(({ id }) => id)).toEqual(['a']);
    expect(rankByFullText(catalog, 'picture', { k: 9 }).map(({ id }) => id)).toEqual(['b', 'a']);
    expect(rankByFullText(catalog, 'wrote colour', { k: 9 })[0]).toMatchObject({ id: 'c', why: ['wrote', 'colour'] });
    await catalog.close();
  });

  it('R3 asks for what few have; what many have counts where it names a skill, and the more skills, the fewer words', () => {
    const asked = (text: string, size: number, counts: Readonly<Record<string, number>>) =>
      matchesOf(queryTerms(text), size, (_term, word = '') => counts[word] ?? 0);
    const counts = { zebra: 3, walrus: 900, common: 2000, absent: 0 };
    expect(asked('common walrus zebra absent', 10_000, counts)).toEqual(['"zebra" OR "walrus" OR {name tags description} : ("common")']);
    expect(asked('common walrus', 1000, counts)).toEqual(['"walrus" OR {name tags description} : ("common")']);
    expect(asked('common', 10_000, counts)).toEqual(['{name tags description} : ("common")', '"common"']);
    expect(asked('absent', 10_000, counts)).toEqual([]);
    expect(asked('red rare green blue', 25_000, { red: 2400, rare: 10, green: 2450, blue: 2460 })).toEqual(['"rare" OR "red" OR "green"']);
    const pasted = Array.from({ length: 500 }, (_, at) => `pasted${at}`);
    expect(asked(pasted.join(' '), 25_000, Object.fromEntries(pasted.map((word) => [word, 1])))[0]!.split(' OR ')).toHaveLength(32);
  });

  it('R3 finds what most bodies and no names say', async () => {
    const catalog = await catalogOf(...Array.from({ length: 1200 }, (_, at) => ({ ...documents[0]!, id: `all-${at}`, body: 'okapi' })));
    expect(rankByFullText(catalog, 'okapi', { k: 3 })).toHaveLength(3);
    await catalog.close();
  });

  it('R3 weighs name over tags over description over body', async () => {
    const plain = { ...documents[0]!, tags: [], description: 'other', examples: [], body: 'other', version: '1 1 v' };
    const catalog = await catalogOf(
      { ...plain, id: 'd', name: 'd', body: 'okapi other' },
      { ...plain, id: 'c', name: 'c', description: 'okapi other' },
      { ...plain, id: 'b', name: 'b', tags: ['okapi'] },
      { ...plain, id: 'a', name: 'okapi' },
      ...documents.slice(0, 50),
    );
    expect(rankByFullText(catalog, 'okapi', { k: 9 }).map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd']);
    await catalog.close();
  });
});

describe('many skills', () => {
  it('R3 candidates of FTS5 are scored as the ranker with all bodies in memory would', async () => {
    const catalog = await catalogOf(...documents);
    const whole = counted(documents);
    const metadata = loaded(catalog, false);
    expect(metadata.rank('word5', { k: 5 })).toEqual([]);
    for (const query of [...queries, 'hnadles topic99']) {
      const found = rankCandidates(catalog, metadata, query, { k: 10 });
      const wanted = whole.rank(query, { k: 10 });
      expect(found.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
      expect(found.map(({ why }) => why)).toEqual(wanted.map(({ why }) => why));
      found.forEach(({ score }, at) => expect(score).toBeCloseTo(wanted[at]!.score, 5));
    }
    expect(rankCandidates(catalog, metadata, 'hnadles topic99', { k: 1 })[0]).toMatchObject({
      id: 'skill-99',
      why: ['hnadles', 'topic99'],
    });
    await catalog.close();
  });
});
