import path from 'node:path';
import type { RankerDocument } from 'pith/skill_registry';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import { describe, expect, it } from 'vitest';
import type { LearnedExamples } from '../../../sandbox/extensions/skill_search/learning/learned-examples.ts';
import { KeptIndex } from '../../../sandbox/extensions/skill_search/kept-index.ts';
import { SearchIndex, type SearchIndexPorts } from '../../../sandbox/extensions/skill_search/search-index.ts';
import { folderWith } from '../../places.ts';
import { logTo } from '../skill_registry/skill-sandbox.ts';

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
/** Of words alone; nothing of it was learned, written or kept before. */
const indexOf = (values: Partial<SearchIndexPorts> = {}) =>
  new SearchIndex({
    learned: null,
    written: { look: async () => '', of: () => NOTHING },
    document: async () => null,
    vectors: async () => null,
    kept: null,
    ...values,
  });
const idsOf = async (index: SearchIndex, query: string) => (await index.rank(query, { k: 10 })).map(({ id }) => id);

it('R2 R3 takes over what came, changed and went, each by itself', async () => {
  const index = indexOf();
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
  const index = indexOf();
  const many = Array.from({ length: 100 }, (_, at) => document(`s${at}`, 'word '.repeat(200)));
  let [beats, isRunning] = [0, true];
  const beat = () => {
    beats++;
    if (isRunning) setImmediate(beat);
  };
  setImmediate(beat);
  await index.upsert(many);
  isRunning = false;
  expect(beats).toBeGreaterThanOrEqual(100);
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
  const index = indexOf({ learned, document: async (id) => (asked.push(id), document(id, 'x')) });
  await index.upsert([document('alpha', 'x'), document('beta', 'x')]);
  expect(await idsOf(index, 'pangolin')).toEqual([]);
  texts.set('alpha', ['my pangolin is ill']);
  version++;
  expect([await idsOf(index, 'pangolin'), asked]).toEqual([['alpha'], ['alpha']]);
  texts.delete('alpha');
  version++;
  expect([await idsOf(index, 'pangolin'), asked]).toEqual([[], ['alpha', 'alpha']]);
});

describe('R3 what an earlier process counted', () => {
  const many = Array.from({ length: 80 }, (_, at) => document(`s${at}`, `Grows porcupine${at}.`));
  const versions = (documents: readonly RankerDocument[]) => documents.map(({ id, version }) => ({ id, version }));
  const folder = () => stateFolder(folderWith(), '.cache');
  const indexOn = (place: StateFolder, values: Partial<SearchIndexPorts> = {}) =>
    indexOf({ kept: new KeptIndex(place, logTo([])), ...values });
  async function counted(): Promise<StateFolder> {
    const place = folder();
    const index = indexOn(place);
    await index.upsert(many);
    await index.keep();
    return place;
  }

  it('R3 is recalled and searched without being sent; what is another now, or gone, is not', async () => {
    const place = await counted();
    const index = indexOn(place);
    const now = [...many.slice(2), document('s1', 'Feeds badgers.'), document('new', 'Counts owls.')];
    const ids = await index.recall(versions(now));
    expect([...ids].sort()).toEqual(
      many
        .slice(2)
        .map(({ id }) => id)
        .sort(),
    );
    expect(await Promise.all(['porcupine7', 'porcupine0', 'porcupine1'].map((query) => idsOf(index, query)))).toEqual([['s7'], [], []]);
    await index.upsert(now.slice(-2));
    expect(await Promise.all(['badgers', 'owls'].map((query) => idsOf(index, query)))).toEqual([['s1'], ['new']]);
    await index.keep();
    expect(await indexOn(place).recall(versions(now))).toHaveLength(80);
  });

  it('R3 R5 counts only with what was learned and written then', async () => {
    const place = folder();
    const texts = new Map([['s5', ['my pangolin is ill']]]);
    const none: readonly string[] = [];
    const learned = { look: async () => String(texts.size), of: (id: string) => texts.get(id) ?? none } as unknown as LearnedExamples;
    const index = indexOn(place, { learned });
    await index.upsert(many);
    await index.keep();
    const again = indexOn(place, { learned });
    expect(await again.recall(versions(many))).toHaveLength(80);
    expect(await idsOf(again, 'pangolin')).toEqual(['s5']);
    texts.delete('s5');
    const after = indexOn(place, { learned });
    expect(await after.recall(versions(many))).not.toContain('s5');
    expect(await idsOf(after, 'pangolin')).toEqual([]);
  });

  it.each([
    ['cut off', (bytes: Buffer) => bytes.subarray(0, bytes.length - 64)],
    ['damaged in one place', (bytes: Buffer) => (bytes.writeUInt8(bytes[900]! ^ 1, 900), bytes)],
    ['empty', () => Buffer.alloc(0)],
    ['something else', () => Buffer.from('hello, this is no index')],
  ])('R3 and is %s is thrown away', async (_name, damage) => {
    const place = await counted();
    const [name] = place.list();
    place.writeNow(name!, damage(place.read(name!)!));
    const index = indexOn(place);
    expect(await index.recall(versions(many))).toEqual([]);
    await index.upsert(many);
    expect(await idsOf(index, 'porcupine7')).toEqual(['s7']);
    await index.keep();
    expect(await indexOn(place).recall(versions(many))).toHaveLength(80);
  });

  it('R3 and a folder in its place is said with the cure: all is counted again', async () => {
    const place = await counted();
    const [name = ''] = place.list();
    place.remove(name);
    place.folder(name).make();
    const index = indexOn(place);
    expect(await index.recall(versions(many))).toEqual([]);
    await index.upsert(many);
    await index.keep();
    expect(await idsOf(index, 'porcupine7')).toEqual(['s7']);
    expect(new KeptIndex(place, logTo([])).findings()).toEqual([
      {
        severity: 'warning',
        code: 'state_refused',
        message: `${path.join(place.path, name)} is not used: a folder is in its place, so each process counts all skills again`,
        cure: expect.stringContaining('move it away'),
      },
    ]);
  });

  it('R3 few skills are recalled or counted when somebody searches, and not before: no table of word vectors is read', async () => {
    let read = 0;
    const kept = folder();
    const opened = async () => {
      const index = indexOn(kept, { vectors: async () => (read++, null) });
      expect(await index.recall(versions(many.slice(0, 10)))).toEqual([]);
      await index.upsert(many.slice(0, 10));
      return index;
    };
    const index = await opened();
    await index.keep();
    expect(read).toBe(0);
    expect(await idsOf(index, 'porcupine7')).toEqual(['s7']);
    expect(read).toBeGreaterThan(0);
    await index.keep();
    const asked = await opened();
    expect(await Promise.all([idsOf(asked, 'porcupine7'), idsOf(asked, 'porcupine8')])).toEqual([['s7'], ['s8']]);
    const next = await opened();
    await next.upsert([{ ...many[7]!, version: 'changed', body: 'gazelle' }]);
    expect([await idsOf(next, 'porcupine7'), await idsOf(next, 'gazelle'), await idsOf(next, 'porcupine8')]).toEqual([[], ['s7'], ['s8']]);
  });
});
