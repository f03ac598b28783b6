import { documentOf, type Searched } from '../search/document.ts';

/** Of the body, which begins with what it is for. */
const BODY_CHARACTERS = 1500;
const LONGEST = 4000;

/**
 * What of a skill is turned into a vector: name, description, when to use it, what people said when they wanted it, and how its body
 * begins. The examples of its frontmatter are left to the words: they are what a model is measured by.
 */
export function vectorTextOf(skill: Searched, body: string, learned: readonly string[] = []): string {
  const { name, description, examples } = documentOf({ ...skill, examples: [] }, learned);
  return [name, description, ...examples, body.trim().slice(0, BODY_CHARACTERS)]
    .filter((part) => part !== '')
    .join('\n')
    .slice(0, LONGEST);
}
