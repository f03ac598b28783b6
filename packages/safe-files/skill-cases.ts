/** True for what is in `evals/` of a skill, or in its `eval_queries.json`: who is measured by cases must not read them. Ignores case. */
export function isSkillCase(names: readonly string[]): boolean {
  const plain = names.map((name) => name.normalize('NFKC').toLowerCase());
  return plain.some((name, at) => name === 'skills' && CASES.has(plain[at + 2] ?? ''));
}

const CASES: ReadonlySet<string> = new Set(['evals', 'eval_queries.json']);

/** The same for a path from the skill's own folder. */
export function isCaseOfSkill(path: string): boolean {
  return isSkillCase(['skills', '', ...path.split('/')]);
}
