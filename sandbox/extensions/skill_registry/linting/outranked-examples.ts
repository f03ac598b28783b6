import type { Diagnostic } from 'pith';
import { Bm25fRanker } from '../search/bm25f.ts';
import { bodiedDocumentOf } from '../search/document.ts';
import { advice } from './advice.ts';
import type { LintedSkill } from './read-skill-folder.ts';

/** Examples of a skill for which search puts another one first. `all` are the skills that it is offered beside; those of `shipped` nobody edits. */
export function* outrankedExamples(
  skills: readonly LintedSkill[],
  all: readonly LintedSkill[],
  shipped: ReadonlySet<string>,
): Iterable<Diagnostic> {
  if (!skills.some(({ examples }) => examples.length > 0)) return;
  const ranker = new Bm25fRanker();
  const files = new Map(all.map(({ id, file }) => [id, file]));
  for (const skill of all) ranker.upsert(bodiedDocumentOf(skill, skill.body));
  for (const skill of skills) {
    for (const example of skill.examples) {
      const [first] = ranker.rank(example, { k: 1 });
      if (first === undefined || first.id === skill.id) continue;
      yield advice(
        skill,
        'example_outranked',
        'warning',
        `is second to '${first.id}' for its own example '${example}' (it matched ${first.why.join(', ')})`,
        `use the words of the example in the description of '${skill.id}'${shipped.has(files.get(first.id)!) ? '' : `, or take them out of '${first.id}'`}`,
        'examples',
      );
    }
  }
}
