import { clean } from '../catalog/brief.ts';
import type { Skill } from '../skill.ts';
import { versionOf } from '../scan/stamp.ts';
import type { SearchDocument } from './ranker.ts';

/** What of a skill is searched, beside its body. */
export type Searched = Pick<Skill, 'id' | 'name' | 'description' | 'tags' | 'examples' | 'triggers' | 'extra'>;

/** What is known of a skill without its body. */
export function documentOf(skill: Searched): SearchDocument {
  const { id, description, tags } = skill;
  const examples = [...skill.examples, ...whenToUse(skill)];
  return { id, version: '', name: clean(skill.name), description, tags, examples, headings: '', body: '' };
}

/** The same with headings and body. */
export function fullDocumentOf(skill: Skill, body: string): SearchDocument {
  return { ...bodiedDocumentOf(skill, body), version: documentVersion(skill) };
}

/** The same for a skill that no source has. */
export function bodiedDocumentOf(skill: Searched, body: string): SearchDocument {
  const headings = [...body.matchAll(/^#{1,6}\s+(.+)$/gm)].map((match) => match[1]!).join('\n');
  return { ...documentOf(skill), headings, body };
}

/** Names the file, and the version of it, that a document is made of. */
export function documentVersion({ stamp, file }: Skill): string {
  return `${versionOf(stamp)} ${file}`;
}

const NO_TRIGGERS = { keywords: [], verbs: [] };

/** What else says when a skill fits: its triggers, and frontmatter of other systems. */
function whenToUse(skill: Searched): readonly string[] {
  const { keywords, verbs } = skill.triggers ?? NO_TRIGGERS;
  return [skill.extra.when_to_use, skill.extra['when-to-use'], ...keywords, ...verbs].filter((value) => typeof value === 'string');
}
