import type { Remote } from 'pith';
import type { RankerProvider } from 'pith/skill_registry';
import { fakeClock } from 'pith/testing';
import { expect, it } from 'vitest';
import type { EmbeddingClient } from '../../../../sandbox/extensions/skill_registry/meaning/embedding-client.ts';
import { QueryVectors } from '../../../../sandbox/extensions/skill_registry/meaning/meaning.ts';
import { OtherRanker } from '../../../../sandbox/extensions/skill_registry/search/other-ranker.ts';
import type { SearchBackends } from '../../../../sandbox/extensions/skill_registry/search/search-backends.ts';
import type { SkillIndex } from '../../../../sandbox/extensions/skill_registry/search/skill-index.ts';
import { SkillSearch } from '../../../../sandbox/extensions/skill_registry/search/skill-search.ts';
import { skillOf, snapshotOf } from '../skill-values.ts';

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
