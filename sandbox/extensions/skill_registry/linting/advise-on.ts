import path from 'node:path';
import type { Diagnostic } from 'pith';
import { lintSkill, type LintResult } from '../lint.ts';
import { linkedResources } from './linked-resources.ts';
import { outrankedExamples } from './outranked-examples.ts';
import { readSkillFolder } from './read-skill-folder.ts';
import { requirements } from './requirements.ts';
import { similarDescriptions } from './similar-descriptions.ts';
import { whenToUse } from './when-to-use.ts';

/**
 * Holds skills to the specification and to advice. `given` are SKILL.md files to judge; `beside` are further ones that they are
 * offered beside, and that `requires` may name. Results come in the order of `given`.
 */
export async function adviseOn(given: readonly string[], beside: readonly string[]): Promise<readonly LintResult[]> {
  const results = await inTurn(given, (file) => lintSkill(file, path.dirname(file)));
  const judged = (await inTurn(given, readSkillFolder)).filter((skill) => skill !== null);
  const ids = new Set(judged.map(({ id }) => id));
  const others = await inTurn(
    beside.filter((file) => !given.includes(file) && !ids.has(path.basename(path.dirname(file)))),
    readSkillFolder,
  );
  const all = [...judged, ...others.filter((skill) => skill !== null)].sort((a, b) => (a.id < b.id ? -1 : 1));
  const found: Diagnostic[] = [
    ...requirements(judged, all),
    ...outrankedExamples(judged, all),
    ...similarDescriptions(all, new Set(judged)),
  ];
  for (const skill of judged) found.push(...whenToUse(skill), ...(await linkedResources(skill)));
  return results.map((result, at) => ({
    ...result,
    path: path.dirname(given[at]!),
    diagnostics: [...result.diagnostics, ...found.filter(({ file }) => file === given[at]).sort(byLine)],
  }));
}

async function inTurn<In, Out>(values: readonly In[], work: (value: In) => Promise<Out>): Promise<Out[]> {
  const results: Out[] = [];
  for (const value of values) results.push(await work(value));
  return results;
}

function byLine(a: Diagnostic, b: Diagnostic): number {
  return (a.line ?? 0) - (b.line ?? 0);
}
