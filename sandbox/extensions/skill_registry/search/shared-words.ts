import { eachTerm, queryTerms } from '@pith/word-ranker';
import type { RankedSkill } from '../contract.ts';
import type { Skill } from '../skill.ts';
import type { RankOptions } from './ranker-feed.ts';

/** Ranks without a ranker: by how many of the query's words stand in a skill's id, name and tags. */
export function bySharedWords(skills: readonly Skill[], query: string, { k, among }: RankOptions): readonly RankedSkill[] {
  const words = queryTerms(query);
  const found: RankedSkill[] = [];
  for (const { id, name, tags } of skills) {
    if (among?.(id) === false) continue;
    const terms = new Set<string>();
    eachTerm([id, name, ...tags].join(' '), (term) => terms.add(term));
    const why = words.filter(({ term }) => terms.has(term)).map(({ word }) => word);
    if (why.length > 0) found.push({ id, score: why.length / words.length, why });
  }
  return found.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1)).slice(0, k);
}
