import type { Diagnostic } from 'pith';
import { eachTerm } from '../search/tokens.ts';
import { advice } from './advice.ts';
import type { LintedSkill } from './read-skill-folder.ts';

/** Of what two descriptions say, so much in common makes them hard to tell apart. */
const SIMILAR = 0.6;
/** Fewer words say too little to compare. */
const LEAST_TERMS = 4;

/** Skills whose descriptions say nearly the same. One finding for all that are near to a judged one; no two of them are told of again. */
export function* similarDescriptions(skills: readonly LintedSkill[], judged: ReadonlySet<LintedSkill>): Iterable<Diagnostic> {
  const terms = skills.map(({ description }) => termsOf(description));
  const holders = new Map<string, number[]>();
  const near = new Map<LintedSkill, Map<LintedSkill, number>>();
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
      const [first, second] = judged.has(skills[other]!) ? [skills[other]!, skill] : [skill, skills[other]!];
      if (!judged.has(first)) continue;
      near.set(first, (near.get(first) ?? new Map<LintedSkill, number>()).set(second, similarity));
    }
  }
  const groups: Set<LintedSkill>[] = [];
  for (const first of skills) {
    const others = [...(near.get(first) ?? [])].filter(([other]) => !groups.some((group) => group.has(first) && group.has(other)));
    if (others.length === 0) continue;
    groups.push(new Set([first, ...others.map(([other]) => other)]));
    yield finding(first, others);
  }
}

function finding(first: LintedSkill, others: readonly (readonly [LintedSkill, number])[]): Diagnostic {
  const [least, most] = [Math.min, Math.max].map((pick) => Math.round(pick(...others.map(([, similarity]) => similarity)) * 100));
  const names = others.map(([{ id }]) => `'${id}'`);
  const listed = names.length === 1 ? names[0] : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
  const percent = least === most ? `${most}` : `${least} to ${most}`;
  return advice(
    first,
    'description_similar',
    'warning',
    `has nearly the description of ${listed} (${percent} % of their words are the same)`,
    `say in each what it is for and the other${names.length === 1 ? ' is' : 's are'} not, or make them one`,
    'description',
  );
}

function termsOf(text: string): ReadonlySet<string> {
  const terms = new Set<string>();
  eachTerm(text, (term) => void terms.add(term));
  return terms;
}
