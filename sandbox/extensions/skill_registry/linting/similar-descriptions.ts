import type { Diagnostic } from 'pith';
import { eachTerm } from '../search/tokens.ts';
import { advice } from './advice.ts';
import type { LintedSkill } from './read-skill-folder.ts';

/** Of what two descriptions say, so much in common makes them hard to tell apart. */
const SIMILAR = 0.6;
/** Fewer words say too little to compare. */
const LEAST_TERMS = 4;

/** Pairs of skills whose descriptions say nearly the same. One finding a pair, at the first of it that is judged. */
export function* similarDescriptions(skills: readonly LintedSkill[], judged: ReadonlySet<LintedSkill>): Iterable<Diagnostic> {
  const terms = skills.map(({ description }) => termsOf(description));
  const holders = new Map<string, number[]>();
  for (const [at, skill] of skills.entries()) {
    const own = terms[at]!;
    if (own.size < LEAST_TERMS) continue;
    const common = new Map<number, number>();
    for (const term of own) {
      const before = holders.get(term) ?? [];
      // What a great many say tells none of them apart, and would make this quadratic.
      if (before.length < 200) for (const other of before) common.set(other, (common.get(other) ?? 0) + 1);
      before.push(at);
      holders.set(term, before);
    }
    for (const [other, count] of common) {
      const similarity = count / (own.size + terms[other]!.size - count);
      if (similarity < SIMILAR) continue;
      const percent = Math.round(similarity * 100);
      const [first, second] = judged.has(skills[other]!) ? [skills[other]!, skill] : [skill, skills[other]!];
      if (!judged.has(first)) continue;
      yield advice(
        first,
        'description_similar',
        'warning',
        `has nearly the description of '${second.id}' (${percent} % of their words are the same)`,
        `say in each what '${first.id}' is for and '${second.id}' is not, or make them one`,
        'description',
      );
    }
  }
}

function termsOf(text: string): ReadonlySet<string> {
  const terms = new Set<string>();
  eachTerm(text, (term) => void terms.add(term));
  return terms;
}
