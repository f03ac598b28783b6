import type { TriggerMatch } from './trigger-index.ts';

/** Best first: named, exact phrase, pattern, number of hits, used lately, id. `recent`: ids, the latest used first. */
export function ranked(matches: readonly TriggerMatch[], recent: readonly string[]): readonly TriggerMatch[] {
  const place = new Map(recent.map((id, index) => [id, index] as const));
  const age = ({ skill }: TriggerMatch) => place.get(skill.id) ?? Infinity;
  return [...matches].sort(
    (a, b) =>
      Number(b.mentioned) - Number(a.mentioned) ||
      Number(b.phrase) - Number(a.phrase) ||
      Number(b.pattern) - Number(a.pattern) ||
      b.hits.length - a.hits.length ||
      (age(a) === age(b) ? 0 : age(a) - age(b)) ||
      (a.skill.id < b.skill.id ? -1 : 1),
  );
}

/** The first `most`, and whatever is named. */
export function top(matches: readonly TriggerMatch[], most: number): readonly TriggerMatch[] {
  return matches.filter(({ mentioned }, index) => mentioned || index < most);
}
