import path from 'node:path';
import type { Diagnostic } from 'pith';
import { lintSkill, type LintResult } from '../lint.ts';
import { linkedResources } from './linked-resources.ts';
import { outrankedExamples } from './outranked-examples.ts';
import { readSkillFolder } from './read-skill-folder.ts';
import { requirements } from './requirements.ts';
import { similarDescriptions } from './similar-descriptions.ts';
import { templateLeft } from './template-left.ts';
import { whenToUse } from './when-to-use.ts';

/** What lint knows of where skills lie; each are SKILL.md files. */
export interface Neighbours {
  /** Further skills than those to judge: they are seen beside, and `requires` may name them. */
  readonly beside?: readonly string[];
  /** Offered to nobody: judged, and compared with no other. */
  readonly apart?: ReadonlySet<string>;
  /** They came with Pith: nobody edits them. */
  readonly shipped?: ReadonlySet<string>;
}

/** Holds skills to the specification and to advice. `given` are SKILL.md files to judge. Results come in their order. */
export async function adviseOn(
  given: readonly string[],
  { beside = [], apart = new Set(), shipped = new Set() }: Neighbours = {},
): Promise<readonly LintResult[]> {
  const results = await inTurn(given, (file) => lintSkill(file, path.dirname(file)));
  const judged = (await inTurn(given, readSkillFolder)).filter((skill) => skill !== null);
  const ids = new Set(judged.map(({ id }) => id));
  const others = await inTurn(
    beside.filter((file) => !given.includes(file) && !ids.has(path.basename(path.dirname(file)))),
    readSkillFolder,
  );
  const all = [...judged, ...others.filter((skill) => skill !== null)].sort((a, b) => (a.id < b.id ? -1 : 1));
  const compared = all.filter(({ file }) => !apart.has(file));
  const comparable = judged.filter(({ file }) => !apart.has(file));
  const found: Diagnostic[] = [
    ...requirements(judged, all),
    ...outrankedExamples(comparable, compared, shipped),
    ...similarDescriptions(compared, new Set(comparable)),
  ];
  for (const skill of judged) found.push(...whenToUse(skill), ...templateLeft(skill), ...(await linkedResources(skill)));
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
