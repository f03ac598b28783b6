import { splitFrontmatter } from '@pith/skill-files';

/** What follows the closing `---`; the whole text where there is no frontmatter. */
export function bodyOf(text: string): string {
  const split = splitFrontmatter(text, true);
  return 'code' in split ? text : text.slice(split.bodyOffset);
}
