import { slipsOf } from '@pith/plain-text';
import { eachTerm } from '@pith/word-ranker';

/** A skill by the words of its name and of its description. */
export interface SkillWords {
  readonly id: string;
  readonly description: string;
  readonly name: ReadonlySet<string>;
  readonly said: ReadonlySet<string>;
}

export function wordsOf({ id, description }: Pick<SkillWords, 'id' | 'description'>): SkillWords {
  return { id, description, name: termsOf(id), said: termsOf(description) };
}

/** Descriptions with this share of common words are hard to tell apart; less suffices where the names are nearly equal. */
const SIMILAR = { otherNames: 0.6, oneName: 0.45 };
/** Fewer words are too few to compare. */
const LEAST_TERMS = 4;

/** Whether its description has enough words to be compared with others. */
export function isComparable({ said }: SkillWords): boolean {
  return said.size >= LEAST_TERMS;
}

/** The share of the words that two descriptions have in common, where nobody could tell the skills apart by them; null: they can. `common`: how many words, where that is known. */
export function likenessOf(one: SkillWords, two: SkillWords, common = commonIn(one.said, two.said)): number | null {
  const likeness = common / (one.said.size + two.said.size - common);
  if (likeness < SIMILAR.oneName || (likeness < SIMILAR.otherNames && !isOneName(one.id, two.id))) return null;
  return tells(one, two) && tells(two, one) ? null : likeness;
}

/** Whether a description says which skill it is: it names the other one, or has a word of its name that the other lacks (`pdf-forms` beside `docx-forms`). */
function tells({ description, name, said }: SkillWords, other: SkillWords): boolean {
  const { id } = other;
  if (id.includes(':') ? description.includes(id) : description.split(/[^\p{L}\p{N}-]+/u).includes(id)) return true;
  return [...name].some((word) => said.has(word) && !other.name.has(word) && !other.said.has(word));
}

/** `pdf-form` and `pdf-forms`, `review-code` and `code-review`, or a difference of one letter. */
function isOneName(one: string, two: string): boolean {
  const [words, others] = [one, two].map((name) => [...termsOf(name)].sort().join(' '));
  return (words !== '' && words === others) || (one.length > 4 && slipsOf(one, [two]).length > 0);
}

function commonIn(one: ReadonlySet<string>, two: ReadonlySet<string>): number {
  let common = 0;
  for (const word of one) if (two.has(word)) common += 1;
  return common;
}

export function termsOf(text: string): ReadonlySet<string> {
  const terms = new Set<string>();
  eachTerm(text, (term) => void terms.add(term));
  return terms;
}
