import type { Skill } from '../skill.ts';
import type { Ranked, RankOptions } from './ranker.ts';
import { eachTerm, queryTerms } from './tokens.ts';

/** Ranks without an index: by how many of the query's words stand in a skill's id, name and tags. */
export function rankByNames(skills: Iterable<Skill>, query: string, { k, among }: RankOptions): readonly Ranked[] {
  const words = queryTerms(query);
  const found: Ranked[] = [];
  for (const { id, name, tags, state } of skills) {
    if (state !== 'offered' || !(among?.(id) ?? true)) continue;
    const terms = new Set<string>();
    eachTerm([id, name, ...tags].join(' '), (term) => terms.add(term));
    const why = words.filter(({ term }) => terms.has(term)).map(({ word }) => word);
    if (why.length > 0) found.push({ id, score: why.length / words.length, why });
  }
  return found.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1)).slice(0, k);
}
