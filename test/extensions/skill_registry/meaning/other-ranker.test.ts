import { PithError, type Logger, type Remote } from 'pith';
import type { RankerDocument, RankerOptions, RankerProvider } from 'pith/skill_registry';
import { fakeClock } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import type { EmbeddingClient } from '../../../../sandbox/extensions/skill_registry/meaning/embedding-client.ts';
import { QueryVectors } from '../../../../sandbox/extensions/skill_registry/meaning/meaning.ts';
import type { SearchBackends } from '../../../../sandbox/extensions/skill_registry/search/search-backends.ts';
import type { SkillIndex } from '../../../../sandbox/extensions/skill_registry/search/skill-index.ts';
import { SkillSearch } from '../../../../sandbox/extensions/skill_registry/search/skill-search.ts';
import { OtherRanker } from '../../../../sandbox/extensions/skill_registry/search/other-ranker.ts';
import { skillOf, snapshotOf } from '../skill-values.ts';

/** A ranker whose answer each test says. */
function ranker(answer: (query: string) => unknown) {
  const documents = new Map<string, RankerDocument>();
  const clock = fakeClock();
  const lines: string[] = [];
  const note = (message: string) => void lines.push(message);
  const logger: Logger = { debug: note, info: note, warn: note, error: note };
  let upserts = 0;
  const asked: { readonly options: RankerOptions; readonly signal: AbortSignal | undefined }[] = [];
  const remote = {
    extensionId: 'mine',
    upsert: async (given: readonly RankerDocument[]) => {
      upserts += given.length;
      for (const one of given) documents.set(one.id, one);
    },
    remove: async (ids: readonly string[]) => ids.forEach((id) => documents.delete(id)),
    rank: async (query: string, options: RankerOptions, signal?: AbortSignal) => {
      asked.push({ options, signal });
      return answer(query);
    },
  } as unknown as Remote<RankerProvider>;
  let there = true;
  const other = new OtherRanker({
    id: 'mine',
    find: () => (there ? remote : null),
    readBody: async ({ id }) => `BODY OF ${id}`,
    learned: { of: () => [] },
    clock,
    logger,
  });
  return { other, asked, documents, clock, lines, upserts: () => upserts, leave: () => (there = false) };
}

const SKILLS = ['alpha', 'beta', 'gamma'].map((id) => skillOf(id));
const good = (id: string) => ({ id, score: 1, why: ['because'] });

describe('R1 a ranker of another extension', () => {
  it('is told of all skills in the background, then of what changed, and asked only when it knows them', async () => {
    const { other, documents, upserts } = ranker(() => [good('beta')]);
    const first = snapshotOf(SKILLS);
    expect(await other.rank('x', { k: 5, patienceMs: 250 })).toBeNull();
    other.sync(first);
    await other.settled();
    expect([...documents.keys()]).toEqual(['alpha', 'beta', 'gamma']);
    expect(documents.get('beta')).toMatchObject({ id: 'beta', body: 'BODY OF beta' });
    expect(await other.rank('x', { k: 5, patienceMs: 250 })).toEqual([good('beta')]);
    other.sync(snapshotOf([SKILLS[0]!, { ...SKILLS[1]!, stamp: '1 1 77 1' }]));
    await other.settled();
    expect([...documents.keys()]).toEqual(['alpha', 'beta']);
    expect(upserts()).toBe(4);
    other.forgets();
    expect(await other.rank('x', { k: 5, patienceMs: 250 })).toBeNull();
    await other.close();
  });

  it.each([
    ['no list', () => 'everything', null],
    ['a score that is no number', () => [{ ...good('alpha'), score: Number.NaN }], null],
    ['a reason that is no list', () => [{ ...good('alpha'), why: 'so' }], null],
    ['a hole', () => [null], null],
    ['ids that nobody has, and twice the same', () => [good('nobody'), good('alpha'), good('alpha')], ['alpha']],
    ['an id that the agent may not see', () => [good('gamma'), good('beta')], ['beta']],
    ['nothing', () => [], []],
    [
      'an error',
      () => {
        throw new PithError('provider_failed', 'it broke');
      },
      null,
    ],
  ])('that answers %s harms nobody, and is named once', async (_name, answer, expected) => {
    const { other, lines } = ranker(answer);
    other.sync(snapshotOf(SKILLS));
    await other.settled();
    for (let time = 0; time < 3; time++) {
      const found = await other.rank('x', { k: 5, among: (id) => id !== 'gamma', patienceMs: 250 });
      expect(found === null ? null : found.map(({ id }) => id)).toEqual(expected);
    }
    expect(lines.filter((line) => line.includes("the ranker 'mine'"))).toHaveLength(expected === null ? 1 : 0);
    await other.close();
  });

  it('that hangs is waited for once, as long as the asker has patience', async () => {
    let release = (): void => {};
    const { other, asked: calls, clock, lines } = ranker(() => new Promise((resolve) => (release = () => resolve([good('alpha')]))));
    other.sync(snapshotOf(SKILLS));
    await other.settled();
    const asked = other.rank('x', { k: 5, patienceMs: 250 });
    await clock.advance(250);
    expect(await asked).toBeNull();
    expect(calls[0]!.signal?.aborted).toBe(true); // nobody wants its answer
    expect(await other.rank('y', { k: 5, patienceMs: 250 })).toBeNull(); // at once: no time has passed
    expect(lines).toEqual([expect.stringContaining('took longer than 250 ms')]);
    release();
    await clock.advance(0);
    const again = other.rank('y', { k: 5, patienceMs: 250 });
    await clock.advance(0);
    release();
    expect(await again).toEqual([good('alpha')]);
    await other.close();
  });

  it('is asked for a few more where few are hidden, and is told who may be seen only where many are', async () => {
    const { other, asked } = ranker(() => [good('s-0'), good('s-299')]);
    other.sync(snapshotOf(Array.from({ length: 300 }, (_, at) => skillOf(`s-${at}`))));
    await other.settled();
    const scope = (hidden: number) => (id: string) => Number(id.slice(2)) >= hidden;
    expect(await other.rank('a', { k: 5, among: scope(2), patienceMs: 250 })).toEqual([good('s-299')]);
    expect(asked.at(-1)!.options).toEqual({ k: 7 });
    expect(await other.rank('d', { k: 5, among: scope(298), patienceMs: 250 })).toEqual([good('s-299')]);
    expect(asked.at(-1)!.options).toEqual({ k: 5, among: ['s-298', 's-299'] });
    await other.close();
  });

  it('that is gone leaves the search to the default one', async () => {
    const { other, leave } = ranker(() => [good('alpha')]);
    other.sync(snapshotOf(SKILLS));
    await other.settled();
    leave();
    expect(await other.rank('x', { k: 5, patienceMs: 250 })).toBeNull();
    await other.close();
  });
});

const snapshot = snapshotOf([skillOf('alpha')]);
const answer = (why: string) => [{ id: 'alpha', score: 1, why: [why] }];
const index = { rank: () => ({ ranked: answer('words'), ready: true, by: 'lexical' }) } as unknown as SkillIndex;
const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Who answers a turn, when what stands beside the words takes so long. */
async function answeredBy(clock: ReturnType<typeof fakeClock>, backends: Partial<SearchBackends>, ms: number): Promise<string> {
  const search = new SkillSearch(index, backends as SearchBackends);
  const asked = search.rank(snapshot, 'x', { k: 5, patienceMs: 0 });
  for (let at = 0; at < ms; at++) await clock.advance(1);
  await clock.advance(1000);
  return (await asked).by;
}

it.each([
  [149, 'fused'],
  [151, 'lexical'],
])('R4 the vector of a query that comes after %i ms: %s', async (ms, by) => {
  const clock = fakeClock();
  const embed = async () => {
    await clock.sleep(ms);
    return [Float32Array.from([1])];
  };
  const queries = new QueryVectors({ restMs: 0, embed } as unknown as EmbeddingClient, clock);
  const meaning = { count: 1, queries, fuse: () => answer('meaning') } as unknown as ReturnType<SearchBackends['meaning']>;
  expect(await answeredBy(clock, { ranker: () => null, meaning: () => meaning }, ms)).toBe(by);
});

it.each([
  [249, 'mine'],
  [251, 'lexical'],
])('R1 a turn waits for another ranker, which answers after %i ms: %s', async (ms, by) => {
  const clock = fakeClock();
  const rank = async () => {
    await clock.sleep(ms);
    return answer('mine');
  };
  const remote = { upsert: async () => {}, remove: async () => {}, rank } as unknown as Remote<RankerProvider>;
  const learned = { of: () => [] };
  const ranker = new OtherRanker({ id: 'mine', find: () => remote, readBody: async () => '', learned, clock, logger });
  ranker.sync(snapshot);
  await ranker.settled();
  expect(await answeredBy(clock, { ranker: () => ranker, meaning: () => null }, ms)).toBe(by);
});
