import { stemmer } from 'stemmer';

const STOP_WORDS = new Set(
  (
    'a about all am an and any are as at be been but by can could did do does for from get give had has have he her his how i if in into is it its just know let like ' +
    'make me my need no not of on or our out please she should show so some tell than that the their them then there these they this to up us use want was we were what ' +
    'when where which who why will with would you your'
  ).split(' '),
);

/** The meaningful words of a text, stemmed. Scripts without spaces give pairs of characters. */
export function termsOf(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [word] of text
    .normalize('NFKC')
    .toLowerCase()
    .matchAll(/[\p{L}\p{N}]+/gu)) {
    if (/^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+$/u.test(word)) {
      for (const pair of pairsOf(word)) found.add(pair);
    } else if (!STOP_WORDS.has(word)) {
      found.add(stemmer(word));
    }
  }
  return found;
}

export function overlap(wanted: ReadonlySet<string>, text: string): number {
  let count = 0;
  for (const term of termsOf(text)) if (wanted.has(term)) count += 1;
  return count;
}

function pairsOf(word: string): readonly string[] {
  const characters = [...word];
  return characters.length === 1 ? characters : characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}
