import type { Diagnostic } from 'pith';
import { PLACEHOLDERS } from '../install/skill-template.ts';
import { advice } from './advice.ts';
import { lineOf, type LintedSkill } from './read-skill-folder.ts';

/** What `skills new` wrote and nobody has replaced. */
export function* templateLeft(skill: LintedSkill): Iterable<Diagnostic> {
  const left = (what: string, cure: string, line: number) =>
    advice(skill, 'template_left', 'warning', `still has the ${what} that skills new wrote`, cure, line);
  if (skill.description.includes(PLACEHOLDERS.description))
    yield left('description', 'say what it does and when to use it', lineOf(skill, 'description'));
  if (skill.body.includes(PLACEHOLDERS.body))
    yield left('text', 'write what the agent must know', skill.bodyLine + skill.body.split(PLACEHOLDERS.body)[0]!.split('\n').length - 1);
}
