import type { Diagnostic } from 'pith';
import { lineOf, type LintedSkill } from './read-skill-folder.ts';

/** A finding of lint about one skill; the file is that of the skill. */
export function advice(skill: LintedSkill, code: string, message: string, cure: string, line: number | string = 1): Diagnostic {
  return {
    severity: 'warning',
    code,
    message,
    file: skill.file,
    line: typeof line === 'string' ? lineOf(skill, line) : line,
    column: 1,
    cure,
  };
}
