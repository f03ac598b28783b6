import type { Skill } from '../skill.ts';

/** A text, and whether it should bring a skill. */
export interface EvalCase {
  readonly skillId: string;
  readonly text: string;
  readonly should: 'load' | 'not_load';
  /** Where it comes from: the frontmatter's `examples`, its `triggers`, what people taught, or `evals/evals.yaml`. */
  readonly from: 'examples' | 'triggers' | 'learned' | 'evals';
}

/** What a skill's frontmatter says people say. A trigger of one word is no request. */
export function casesOf({ id, examples, triggers }: Pick<Skill, 'id' | 'examples' | 'triggers'>): readonly EvalCase[] {
  const phrases = (triggers?.keywords ?? []).filter((phrase) => /\S\s+\S/.test(phrase.trim()));
  return [...positive(id, 'examples', examples), ...positive(id, 'triggers', phrases)];
}

export function positive(skillId: string, from: EvalCase['from'], texts: readonly string[]): readonly EvalCase[] {
  return texts.filter((text) => text.trim() !== '').map((text) => ({ skillId, text, should: 'load', from }));
}

/** Each text of a skill once, in the order of skills, then as given. */
export function distinct(cases: readonly EvalCase[]): readonly EvalCase[] {
  const found = new Map<string, EvalCase>();
  for (const one of cases) {
    const key = JSON.stringify([one.skillId, one.text.trim()]);
    if (!found.has(key) || one.from === 'evals') found.set(key, one);
  }
  return [...found.values()].sort((a, b) => (a.skillId < b.skillId ? -1 : a.skillId > b.skillId ? 1 : 0));
}
