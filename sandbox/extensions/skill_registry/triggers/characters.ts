/** What a character is to the matcher of words. */
export type Kind = typeof SPACE | typeof SYMBOL | typeof WORD | typeof HANGUL | typeof SPACELESS;

export const SPACE = 1;
export const SYMBOL = 2;
/** Letters, marks, digits and `_` of scripts that put spaces between words. */
export const WORD = 3;
/** Korean has spaces, but particles follow a word without one. */
export const HANGUL = 4;
/** Chinese, Japanese, Thai and the like: every character may begin or end a word. */
export const SPACELESS = 5;

/** The form in which texts are compared: NFKC, without case, single spaces, straight apostrophes. */
export function fold(text: string): string {
  const plain = BEYOND_ASCII.test(text)
    ? text.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC').replaceAll('ς', 'σ').replaceAll('’', "'")
    : text.toLowerCase();
  return UNEVEN.test(plain) ? plain.replace(/\s+/g, ' ').trim() : plain;
}

/** The kind of the character at `at`; a space beyond both ends of the text. */
export function kindAt(text: string, at: number): Kind {
  const unit = text.charCodeAt(at);
  if (Number.isNaN(unit)) return SPACE;
  const isHalf = unit >= 0xd800 && unit <= 0xdfff;
  if (isHalf) return kindOf(String.fromCodePoint(text.codePointAt(unit >= 0xdc00 && at > 0 ? at - 1 : at)!));
  return (kinds[unit] ||= kindOf(text[at]!)) as Kind;
}

/** How many units the character at `at` has. */
export function widthAt(text: string, at: number): number {
  return text.codePointAt(at)! > 0xffff ? 2 : 1;
}

const UNEVEN = /^\s|\s\s|[^\S ]|\s$/;
const BEYOND_ASCII = /[\u0080-\uffff]/;
const SPACELESS_SCRIPT =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]/u;
const kinds = new Uint8Array(65_536);

function kindOf(character: string): Kind {
  if (SPACELESS_SCRIPT.test(character)) return SPACELESS;
  if (/\p{Script=Hangul}/u.test(character)) return HANGUL;
  if (/[\p{L}\p{M}\p{N}_]/u.test(character)) return WORD;
  return /\s/.test(character) ? SPACE : SYMBOL;
}
