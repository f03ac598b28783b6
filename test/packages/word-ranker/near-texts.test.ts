import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { packedVectors, TextRanker, type TextDocument, WordVectors } from '@pith/word-ranker';

const table = readFileSync('sandbox/extensions/skill_search/vectors/english.bin');
const vectors = new WordVectors(table);
const document = (id: string, description: string, more: Partial<TextDocument> = {}): TextDocument => ({
  id,
  name: id,
  description,
  tags: [],
  examples: [],
  body: '',
  ...more,
});
const SKILLS = [
  document('kitchen-helper', 'Cooks soup and dinner from what is in the fridge.'),
  document('garden-helper', 'Plants flowers and waters the lawn.'),
  document('money-helper', 'Pays invoices and sorts receipts.'),
  document('travel-helper', 'Books flights and hotels.'),
  document('health-helper', 'Sees to wounds, fever and pills.'),
];
function rankerOf(documents: readonly TextDocument[], table: WordVectors | null = vectors): TextRanker {
  const ranker = new TextRanker(table);
  for (const one of documents) ranker.upsert(one);
  return ranker;
}
const ids = (ranker: TextRanker, query: string) => ranker.rank(query, { k: 10, weak: true }).map(({ id }) => id);

it.each([
  ['my son is ill and needs medicine', 'health-helper'],
  ['something tasty to eat for the evening meal', 'kitchen-helper'],
  ['an airplane to the beach', 'travel-helper'],
])('R4 finds for "%s" the skill that shares no word with it', (query, id) => {
  const [first] = rankerOf(SKILLS).rank(query, { k: 3, weak: true });
  expect(first).toMatchObject({ id, why: ['similar meaning'], weak: true });
  expect(ids(rankerOf(SKILLS, null), query)).not.toContain(id);
});

it('R4 examples and the head of the body lie near too, and what went or changed is found as it is now', () => {
  const ranker = rankerOf(SKILLS);
  ranker.upsert(document('zz', 'Zz.', { examples: ['teach my puppy to sit'] }));
  expect(ids(ranker, 'a trainer for dogs')[0]).toBe('zz');
  ranker.upsert(document('zz', 'Zz.', { body: 'Plays the violin, the piano and other instruments.' }));
  expect(ids(ranker, 'a trainer for dogs')).not.toContain('zz');
  expect(ids(ranker, 'music for a concert')[0]).toBe('zz');
  ranker.remove('zz');
  expect(ids(ranker, 'music for a concert')).not.toContain('zz');
});

it('R4 among more than a thousand documents only what words have found is put into order', () => {
  const many = Array.from({ length: 1000 }, (_, at) => document(`report-${at}`, 'Writes the yearly report of a branch.'));
  expect(ids(rankerOf([...many.slice(0, 990), ...SKILLS]), 'my son is ill and needs medicine')).toContain('health-helper');
  const large = rankerOf([...many, ...SKILLS]);
  expect(ids(large, 'my son is ill and needs medicine')).toEqual([]);
  expect(ids(large, 'fever')[0]).toBe('health-helper');
});

it('R2 R6 a name comes first and is never weak; what is said in passing is weak, a special word is not; without weak ones it answers less', () => {
  const many = Array.from({ length: 100 }, (_, at) => document(`report-${at}`, `Writes the yearly report of branch ${at}.`));
  const ranker = rankerOf([
    ...many,
    ...SKILLS,
    document('luthier', 'Repairs every xylophone.'),
    document('joker', 'Tells jokes, thanks to you.'),
  ]);
  const first = (query: string) => ranker.rank(query, { k: 3, weak: true })[0];
  expect(first('health helper')).toMatchObject({ id: 'health-helper', named: true, weak: false });
  expect(first('mend my xylophone')).toMatchObject({ id: 'luthier', weak: false });
  expect(ranker.rank('and that was great again today', { k: 12, weak: true }).every(({ weak }) => weak)).toBe(true);
  expect(ranker.rank('and that was great again today', { k: 12 })).toEqual([]);
  expect(ranker.rank('pay the invoices', { k: 12 }).map(({ id }) => id)).toEqual(['money-helper']);
});

it('R4 only what may be found is added by its meaning', () => {
  const among = (id: string) => id !== 'health-helper';
  const found = rankerOf(SKILLS).rank('my son is ill and needs medicine', { k: 10, weak: true, among });
  expect(found.map(({ id }) => id)).not.toContain('health-helper');
});

it('R4 the table is at most 4 MB, and a part of it or something else is refused', () => {
  expect(table.length).toBeLessThan(4 * 2 ** 20);
  expect(vectors.dimensions).toBe(128);
  const damaged = packedVectors(['one', 'two'], new Float32Array(1), new Int8Array(256));
  for (const bytes of [
    new Uint8Array(0),
    table.subarray(0, 8),
    table.subarray(0, -1),
    Buffer.from('a text of some length, and no table'),
    damaged,
  ])
    expect(() => new WordVectors(bytes)).toThrow(/not a table of word vectors, or a part of one|its words are damaged/);
});

it.each([
  ['English', 'what is the one that you would have with those'],
  ['German', 'die und mit der das ist nicht eine fur'],
  ['French', 'le de pour les une dans est avec'],
  ['Spanish', 'el de los para una con que es'.replace(' es', '')],
  ['Italian', 'il di per che una della con questo'],
  ['Portuguese', 'o de para com uma nao que isso'.replace('o de', 'ao de')],
  ['Dutch', 'het van met zijn een voor niet deze'],
  ['Polish', 'nie do jest przez dla tylko moze'],
])('R2 words that only build a sentence are no evidence: %s', (_, words) => {
  const ranker = rankerOf([document('notes', `Zebra ${words}.`)], null);
  for (const word of words.split(' ')) expect([word, ids(ranker, word)]).toEqual([word, []]);
  expect(ids(ranker, `${words} zebra`)).toEqual(['notes']);
});

it('R4 scores and nearness are compared by how much they deviate: what all share decides nothing', () => {
  const same = [document('one', 'Repairs shoes.'), document('two', 'Repairs shoes and trousers.'), document('three', 'Repairs bicycles.')];
  const scores = rankerOf(same)
    .rank('repairs shoes', { k: 3, weak: true })
    .map(({ score }) => score);
  const words = rankerOf(same, null)
    .rank('repairs shoes', { k: 3, weak: true })
    .map(({ score }) => score);
  // The gap between first and last changes by deviations of the words' scores, not by cosines as they are.
  const deviation = Math.sqrt(words.map((score) => (score - words.reduce((a, b) => a + b) / 3) ** 2).reduce((a, b) => a + b) / 3);
  expect(Math.abs(scores[0]! - scores[2]! - (words[0]! - words[2]!))).toBeLessThan(0.4 * 3 * deviation);
});

it('R6 what is strong among few is weak among many', () => {
  // Each document is found by one frequent word, whose score does not grow with their number.
  const isWeak = (count: number) =>
    rankerOf(Array.from({ length: count }, (_, at) => document(`a-${at}`, at % 2 === 0 ? 'Knows the weather.' : 'Knows the garden.')))
      .rank('how is the weather', { k: 1, weak: true })
      .map(({ weak }) => weak);
  expect([isWeak(4), isWeak(3000)]).toEqual([[false], [true]]);
});

it('R2 weak matches stand after the others', () => {
  const many = Array.from({ length: 200 }, (_, at) => document(`report-${at}`, `Writes the yearly report of branch ${at}.`));
  const ranked = rankerOf([...many, ...SKILLS]).rank('pills for my fever in a yearly report', { k: 12, weak: true });
  const firstWeak = ranked.findIndex(({ weak }) => weak);
  expect(firstWeak).toBeGreaterThan(0);
  expect(ranked.slice(firstWeak).every(({ weak }) => weak)).toBe(true);
});
