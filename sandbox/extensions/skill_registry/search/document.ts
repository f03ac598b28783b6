import { clean } from '../catalog/brief.ts';
import type { Skill } from '../skill.ts';
import { versionOf } from '../scan/stamp.ts';
import type { SearchDocument } from './ranker.ts';

/** What is known of a skill without its body. */
export function documentOf(skill: Skill): SearchDocument {
  const { id, description, tags } = skill;
  const examples = [...skill.examples, ...whenToUse(skill)];
  return { id, version: '', name: clean(skill.name), description, tags, examples, headings: '', body: '' };
}

/** The same with headings and body. */
export function fullDocumentOf(skill: Skill, body: string): SearchDocument {
  const headings = [...body.matchAll(/^#{1,6}\s+(.+)$/gm)].map((match) => match[1]!).join('\n');
  return { ...documentOf(skill), version: documentVersion(skill), headings, body };
}

/** Names the file, and the version of it, that a document is made of. */
export function documentVersion({ stamp, file }: Skill): string {
  return `${versionOf(stamp)} ${file}`;
}

const NO_TRIGGERS = { keywords: [], verbs: [] };

/** What else says when a skill fits: its triggers, and frontmatter of other systems. */
function whenToUse(skill: Skill): readonly string[] {
  const { keywords, verbs } = skill.triggers ?? NO_TRIGGERS;
  return [skill.extra.when_to_use, skill.extra['when-to-use'], ...keywords, ...verbs].filter((value) => typeof value === 'string');
}
