import { existsSync } from 'node:fs';
import path from 'node:path';

/**
 * True for what is in `evals/` of a skill, or in its `eval_queries.json`: who is measured by cases must not read them. A skill lies directly
 * in a folder `skills`, or has a SKILL.md, wherever it is below `root`, from which the names lead. Ignores case.
 */
export function isSkillCase(root: string, names: readonly string[]): boolean {
  return names.some((name, at) => {
    if (at === 0 || !CASES.has(plain(name))) return false;
    return plain(names[at - 2] ?? '') === 'skills' || isSkill(path.join(root, ...names.slice(0, at)));
  });
}

/** The same for a path from the skill's own folder. */
export function isCaseOfSkill(file: string): boolean {
  return CASES.has(plain(file.split('/', 1)[0]!));
}

const CASES: ReadonlySet<string> = new Set(['evals', 'eval_queries.json']);

function isSkill(folder: string): boolean {
  return ['SKILL.md', 'skill.md'].some((name) => existsSync(path.join(folder, name)));
}

function plain(name: string): string {
  return name.normalize('NFKC').toLowerCase();
}
