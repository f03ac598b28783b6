import { PithError } from 'pith';

const MOST_TAGS = 16;
const LONGEST = 32;

/** Trimmed, in lower case, each once. Throws `tags_invalid` for more than 16, or one of more than 32 characters. */
export function cleanTags(given: readonly string[]): readonly string[] {
  const tags = [...new Set(given.map((tag) => tag.trim().toLowerCase()).filter((tag) => tag !== ''))];
  const long = tags.find((tag) => [...tag].length > LONGEST);
  if (long !== undefined)
    throw new PithError('tags_invalid', `tag '${long.slice(0, LONGEST)}…' is longer than ${LONGEST} characters`, { cure: 'shorten it' });
  if (tags.length > MOST_TAGS)
    throw new PithError('tags_invalid', `${tags.length} tags are more than ${MOST_TAGS}`, { cure: 'leave some out' });
  return tags;
}
