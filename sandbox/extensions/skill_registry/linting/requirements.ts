import { didYouMean, type Diagnostic } from 'pith';
import { advice } from './advice.ts';
import type { LintedSkill } from './read-skill-folder.ts';

/** What `requires` names and nobody has, and circles. `all` are the skills that could be meant. */
export function* requirements(skills: readonly LintedSkill[], all: readonly LintedSkill[]): Iterable<Diagnostic> {
  const byId = new Map(all.map((skill) => [skill.id, skill]));
  const names = new Map(all.map((skill) => [skill.name, skill]));
  const meant = (wanted: string) => byId.get(wanted) ?? names.get(wanted);
  for (const skill of skills) {
    for (const wanted of skill.requires) {
      if (meant(wanted) !== undefined) continue;
      const hint = didYouMean(wanted, byId.keys());
      yield advice(
        skill,
        'requires_unknown',
        'warning',
        `requires '${wanted}', which no source has${hint}`,
        'correct the id, add that skill, or leave it out',
        'requires',
      );
    }
  }
  const told = new Set<string>();
  for (const skill of skills) {
    const circle = circleFrom(skill, meant);
    if (circle === null) continue;
    const key = circle
      .map(({ id }) => id)
      .sort()
      .join(' ');
    if (told.has(key)) continue;
    told.add(key);
    const way = [...circle, circle[0]!].map(({ id }) => id).join(' → ');
    yield advice(skill, 'requires_circle', 'warning', `requires itself in a circle: ${way}`, 'leave one of them out', 'requires');
  }
}

/** The shortest way from a skill back to itself, or null. */
function circleFrom(start: LintedSkill, meant: (wanted: string) => LintedSkill | undefined): readonly LintedSkill[] | null {
  const from = new Map<LintedSkill, LintedSkill | null>([[start, null]]);
  const queue = [start];
  for (let skill = queue.shift(); skill !== undefined; skill = queue.shift()) {
    for (const wanted of skill.requires) {
      const next = meant(wanted);
      if (next === start) {
        const way: LintedSkill[] = [];
        for (let one: LintedSkill | null = skill; one !== null; one = from.get(one) ?? null) way.unshift(one);
        return way;
      }
      if (next === undefined || from.has(next)) continue;
      from.set(next, skill);
      queue.push(next);
    }
  }
  return null;
}
