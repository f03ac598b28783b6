import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { inPieces } from '@pith/skill-files';
import { type TextDocument, TextRanker, WordVectors } from '@pith/word-ranker';
import { expect, it } from 'vitest';
import { words } from '../../words.ts';

const TABLE = new URL('../../../sandbox/extensions/skill_search/vectors/english.bin', import.meta.url);
const vectors = new WordVectors(readFileSync(TABLE));
const SUBJECTS = ['invoice', 'garden', 'cipher', 'bridge', 'poem', 'lens', '表計算ソフト', 'Geschäftsführer'];
const document = (at: number, more = ''): TextDocument => ({
  id: `skill-${at}`,
  name: at % 3 === 0 ? `Number ${at}` : `skill-${at}`,
  description: `Checks the ${SUBJECTS[at % 8]} of team ${at}.${more}`,
  tags: at % 2 === 0 ? [SUBJECTS[(at * 3) % 8]!] : [],
  examples: at % 5 === 0 ? [`please look at my ${SUBJECTS[(at + 1) % 8]}`] : [],
  body: `# Work\n\n${`Write what there is about ${SUBJECTS[(at * 5) % 8]} and porcupine${at}. `.repeat(at % 7)}`,
});
const PHRASES = ['invoice of team 12', 'Number 9', 'money to be paid', 'poem lens'];
const QUERIES = [...PHRASES, ...words('gardn 表計算 表 skill-17 porcupine4 zzz geschaftsfuhrer')];
const answers = (ranker: TextRanker) =>
  QUERIES.map((query) => ranker.rank(query, { k: 30, weak: true }).map(({ id, score, why, weak }) => [id, score.toFixed(9), why, weak]));
const rankerOf = (documents: readonly TextDocument[], table: WordVectors | null) => {
  const ranker = new TextRanker(table);
  for (const one of documents) ranker.upsert(one);
  return ranker;
};
const NOTES = Buffer.from('what was noted');
const restored = async (ranker: TextRanker, table: WordVectors | null) => {
  const copy = new TextRanker(table);
  expect(Buffer.from(copy.restore((await inPieces(ranker.encoded(NOTES)))!)).toString()).toBe('what was noted');
  return copy;
};
const ALL = Array.from({ length: 200 }, (_, at) => document(at));

it.each([
  ['words alone', null],
  ['words and meaning', vectors],
])('R3 a ranker of %s that was written down and read again answers as before, also after changes', async (_name, table) => {
  const former = rankerOf(ALL, table);
  const again = await restored(former, table);
  expect(answers(again)).toEqual(answers(former));
  for (const ranker of [former, again]) {
    for (let at = 0; at < 200; at += 3) ranker.remove(`skill-${at}`);
    for (let at = 0; at < 60; at++) ranker.upsert(document(at + 150, ' It grows gooseberries, too.'));
  }
  const fresh = [
    ...ALL.filter((_, at) => at % 3 !== 0 && at < 150),
    ...Array.from({ length: 60 }, (_, at) => document(at + 150, ' It grows gooseberries, too.')),
  ];
  const byId = (one: TextRanker) =>
    one.rank('gooseberry of team 160', { k: 300, weak: true }).map(({ id, score }) => [id, score.toFixed(9)]);
  expect(byId(again)).toEqual(byId(former));
  expect(byId(again)).toEqual(byId(rankerOf(fresh, table)));
  expect(answers(await restored(again, table))).toEqual(answers(again));
});

it('R3 a word that all documents have lost is in none of those that came into their places', async () => {
  const ranker = await restored(rankerOf([0, 1, 2].map((at) => document(at, ' Gooseberries.')).concat(ALL.slice(10, 90)), null), null);
  const found = () => ranker.rank('gooseberries', { k: 9, weak: true }).map(({ id }) => id);
  /** So many changes that what was removed is swept out of the postings, and numbers are given again. */
  const change = () => {
    for (let at = 10; at < 90; at++) ranker.upsert(document(at));
  };
  expect(found().sort()).toEqual(['skill-0', 'skill-1', 'skill-2']);
  ranker.remove('skill-0');
  change();
  ranker.upsert(document(3, ' Gooseberries.'));
  expect(found().sort()).toEqual(['skill-1', 'skill-2', 'skill-3']);
  for (const at of [1, 2, 3]) ranker.remove(`skill-${at}`);
  change();
  change();
  expect(found()).toEqual([]);
});

it('R3 what changes while a ranker is written down makes it begin again', async () => {
  const ranker = rankerOf(ALL, null);
  const work = ranker.encoded(NOTES);
  ranker.upsert(document(7, ' Later.'));
  expect(await inPieces(work)).not.toBeNull(); // it had not begun
  const many = rankerOf(
    Array.from({ length: 2500 }, (_, at) => document(at)),
    null,
  );
  const begun = many.encoded(NOTES);
  begun.next();
  many.remove('skill-3');
  expect(await inPieces(begun)).toBeNull();
});

it.each([0, 7, 100, 4000])('R3 bytes that are cut off at %i are refused', async (length) => {
  const bytes = (await inPieces(rankerOf(ALL, null).encoded(NOTES)))!;
  expect(() => new TextRanker(null).restore(bytes.slice(0, length))).toThrow(/parts|length|bounds|aligned/i);
});

it('R3 the format of the kept index is raised when documents are counted otherwise', async () => {
  const { INDEX_FORMAT } = await import('../../../sandbox/extensions/skill_search/kept-index.ts');
  const bytes = (await inPieces(rankerOf(ALL, vectors).encoded(NOTES)))!;
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  expect([INDEX_FORMAT, digest]).toEqual([3, '8b9a869584a9af04']);
});
