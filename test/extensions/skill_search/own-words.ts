import { rankerExtension } from '../skill_registry/skill-kernel.ts';

export const WORDS = ['amber', 'birch', 'cedar', 'delta', 'ember', 'fjord', 'grove', 'heath', 'islet', 'jetty', 'knoll', 'ledge'];
export const skill = (id: string, knows: string, examples: readonly string[]) => ({
  [`skills/${id}/SKILL.md`]: `---\nname: ${id}\ndescription: Knows ${knows}.\nexamples: ${JSON.stringify(examples)}\n---\nAll about ${id}.\n`,
});
/** Each skill is found by its own word in two examples; its description also has that of the next. */
export const SKILLS = Object.assign(
  {},
  ...WORDS.map((word, at) =>
    skill(`${word}-skill`, `${word}, unlike ${WORDS[(at + 1) % WORDS.length]}`, [`please polish the ${word}`, `is there ${word} left`]),
  ),
) as Record<string, string>;

/** A ranker of its own, which is measured. */
export const RANKER = rankerExtension(
  "if (examples.length !== 2) throw new Error('it is shown a skill without an example of its own');",
  "if (query.includes('nan')) return [{ id: 'delta-skill', score: Number.NaN, why: [] }];",
  ".concat('nobody')",
);
