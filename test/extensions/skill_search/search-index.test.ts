import type { RankerDocument } from 'pith/skill_registry';
import { expect, it } from 'vitest';
import type { LearnedExamples } from '../../../sandbox/extensions/skill_search/learning/learned-examples.ts';
import { SearchIndex } from '../../../sandbox/extensions/skill_search/search-index.ts';

const NOTHING: readonly string[] = [];
const document = (id: string, body: string): RankerDocument => ({
  id,
  version: body,
  name: id,
  description: `Knows ${id}.`,
  tags: [],
  examples: [],
  whenToUse: [],
  body,
});
const NONE_WRITTEN = { look: async () => '', of: () => NOTHING };
const idsOf = async (index: SearchIndex, query: string) => (await index.rank(query, { k: 10 })).map(({ id }) => id);

it('R2 R3 takes over what came, changed and went, each by itself', async () => {
  const index = new SearchIndex({
    learned: null,
    written: NONE_WRITTEN,
    document: async () => null,
    vectors: async () => null,
    kept: null,
  });
  await index.upsert([document('alpha', 'Grows porcupines.'), document('beta', 'Feeds badgers.'), document('gamma', 'Counts owls.')]);
  expect([await idsOf(index, 'porcupines'), await idsOf(index, 'badgers'), await idsOf(index, 'owls')]).toEqual([
    ['alpha'],
    ['beta'],
    ['gamma'],
  ]);
  await index.upsert([document('alpha', 'Grows hedgehogs.')]);
  await index.remove(['beta']);
  expect([await idsOf(index, 'porcupines'), await idsOf(index, 'hedgehogs'), await idsOf(index, 'badgers')]).toEqual([[], ['alpha'], []]);
});

it('R3 lets others work after each skill that it counts, and ends in the middle of its work', async () => {
  const index = new SearchIndex({
    learned: null,
    written: NONE_WRITTEN,
    document: async () => null,
    vectors: async () => null,
    kept: null,
  });
  const many = Array.from({ length: 60 }, (_, at) => document(`s${at}`, 'word '.repeat(200)));
  let [beats, isRunning] = [0, true];
  const beat = () => {
    beats++;
    if (isRunning) setImmediate(beat);
  };
  setImmediate(beat);
  await index.upsert(many);
  isRunning = false;
  expect(beats).toBeGreaterThanOrEqual(60);
  const stop = new AbortController();
  const rest = index.upsert([document('late', 'x'), document('later', 'x')], stop.signal);
  stop.abort(new Error('stopped'));
  await expect(rest).rejects.toThrow('stopped');
});

it('R5 indexes a skill again when something of it was learned or forgotten, and only then', async () => {
  const texts = new Map<string, readonly string[]>();
  const none: readonly string[] = [];
  let version = 0;
  const learned = { look: async () => String(version), of: (id: string) => texts.get(id) ?? none } as unknown as LearnedExamples;
  const asked: string[] = [];
  const index = new SearchIndex({
    learned,
    written: NONE_WRITTEN,
    document: async (id) => (asked.push(id), document(id, 'x')),
    vectors: async () => null,
    kept: null,
  });
  await index.upsert([document('alpha', 'x'), document('beta', 'x')]);
  texts.set('alpha', ['my pangolin is ill']);
  version++;
  expect([await idsOf(index, 'pangolin'), asked]).toEqual([['alpha'], ['alpha']]);
  texts.delete('alpha');
  version++;
  expect([await idsOf(index, 'pangolin'), asked]).toEqual([[], ['alpha', 'alpha']]);
});
