import { clean } from '../catalog/brief.ts';
import { splitFrontmatter } from '../format/frontmatter.ts';
import { openBelow, openFolder } from '../reading/inside.ts';
import type { Skill } from '../skill.ts';
import type { SearchDocument } from './ranker.ts';

/** What is known of a skill without its body. */
export function documentOf(skill: Skill): SearchDocument {
  const { id, description, tags } = skill;
  return { id, name: clean(skill.name), description, tags, examples: [...skill.examples, ...whenToUse(skill)], headings: '', body: '' };
}

/** The same with headings and body, read once and kept by nobody; null when the file cannot be read now. */
export async function fullDocumentOf(skill: Skill): Promise<SearchDocument | null> {
  const body = await bodyOf(skill);
  if (body === null) return null;
  const headings = [...body.matchAll(/^#{1,6}\s+(.+)$/gm)].map((match) => match[1]!).join('\n');
  return { ...documentOf(skill), headings, body };
}

async function bodyOf(skill: Skill): Promise<string | null> {
  const folder = await openFolder(skill.realDirectory);
  if (folder === null) return null;
  try {
    const file = await openBelow(folder, [skill.file.slice(skill.file.lastIndexOf('/') + 1)]);
    if (file === null) return null;
    try {
      const stats = await file.handle.stat();
      if (!stats.isFile() || stats.size > 1_048_576) return null;
      const text = await file.handle.readFile('utf8');
      const split = splitFrontmatter(text, true);
      return 'code' in split ? null : text.slice(split.bodyOffset);
    } finally {
      await file.handle.close();
    }
  } finally {
    await folder.handle.close();
  }
}

/** Frontmatter of other systems that says when a skill fits. */
function whenToUse(skill: Skill): readonly string[] {
  const triggers = skill.extra.triggers;
  const listed = typeof triggers === 'object' && triggers !== null ? Object.values(triggers).flat() : [];
  return [skill.extra.when_to_use, skill.extra['when-to-use'], ...listed].filter((value) => typeof value === 'string');
}
