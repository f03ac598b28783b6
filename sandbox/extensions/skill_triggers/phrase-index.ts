/** The class of a character for the word matcher. */
export type Kind = typeof SPACE | typeof SYMBOL | typeof WORD | typeof HANGUL | typeof SPACELESS;

export const SPACE = 1;
export const SYMBOL = 2;
/** Letters, marks, digits and `_` of scripts with spaces between words. */
const WORD = 3;
/** Korean has spaces, but particles follow a word without one. */
const HANGUL = 4;
/** Chinese, Japanese, Thai and the like: every character may begin or end a word. */
const SPACELESS = 5;

/** The form in which texts are compared: NFKC, without case, single spaces, straight apostrophes. */
export function fold(text: string): string {
  const plain = text.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC').replaceAll('ς', 'σ').replaceAll('’', "'");
  return plain.replace(/\s+/g, ' ').trim();
}

/** The class of the character at `at`; a space beyond both ends of the text. */
export function kindAt(text: string, at: number): Kind {
  const unit = text.charCodeAt(at);
  if (Number.isNaN(unit)) return SPACE;
  const isHalf = unit >= 0xd800 && unit <= 0xdfff;
  if (isHalf) return kindOf(String.fromCodePoint(text.codePointAt(unit >= 0xdc00 && at > 0 ? at - 1 : at)!));
  return kindOf(text[at]!);
}

/** How many UTF-16 units the character at `at` has. */
function widthAt(text: string, at: number): number {
  return text.codePointAt(at)! > 0xffff ? 2 : 1;
}

const SPACELESS_SCRIPT =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]/u;

function kindOf(character: string): Kind {
  if (SPACELESS_SCRIPT.test(character)) return SPACELESS;
  if (/\p{Script=Hangul}/u.test(character)) return HANGUL;
  if (/[\p{L}\p{M}\p{N}_]/u.test(character)) return WORD;
  return /\s/.test(character) ? SPACE : SYMBOL;
}

/** Finds many phrases as whole words in one pass over a text: the time depends on the text, hardly on the number of phrases. */
export class PhraseIndex<Value> {
  /** By the first unit of the phrases. */
  readonly #buckets = new Map<string, Bucket<Value>>();

  add(phrase: string, value: Value): void {
    const text = fold(phrase);
    if (text === '') return;
    const key = text.slice(0, endOfUnit(text, 0));
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) this.#buckets.set(key, (bucket = { lengths: [], values: new Map() }));
    if (!bucket.lengths.includes(text.length)) bucket.lengths.push(text.length);
    const values = bucket.values.get(text);
    if (values === undefined) bucket.values.set(text, [value]);
    else values.push(value);
  }

  /** Calls `found` for each occurrence; `text` is folded. */
  eachIn(text: string, found: (value: Value, from: number, to: number) => void): void {
    for (let at = 0; at < text.length;) {
      const kind = kindAt(text, at);
      const end = endOfUnit(text, at);
      const bucket = kind === SPACE ? undefined : this.#buckets.get(kind === HANGUL ? text.slice(at, at + 1) : text.slice(at, end));
      if (bucket !== undefined) {
        for (const length of bucket.lengths) {
          const to = at + length;
          if (to > text.length || !isWhole(text, at, to)) continue;
          for (const value of bucket.values.get(text.slice(at, to)) ?? []) found(value, at, to);
        }
      }
      at = kind === HANGUL ? endOfRun(text, at, HANGUL) : end;
    }
  }
}

interface Bucket<Value> {
  readonly lengths: number[];
  readonly values: Map<string, Value[]>;
}

/** A unit is a run of letters, or one character of another class. */
function endOfUnit(text: string, at: number): number {
  return kindAt(text, at) === WORD ? endOfRun(text, at, WORD) : at + widthAt(text, at);
}

function endOfRun(text: string, from: number, kind: number): number {
  let at = from;
  while (at < text.length && kindAt(text, at) === kind) at += widthAt(text, at);
  return at;
}

/** Whether the range is not part of a longer word. The start of a unit begins a word, unless a symbol is within one. */
function isWhole(text: string, from: number, to: number): boolean {
  if (kindAt(text, from) === SYMBOL && isJoined(text, from - 1)) return false;
  const last = kindAt(text, to - 1);
  if (last === SPACELESS || last === HANGUL) return true;
  if (last === WORD) return kindAt(text, to) !== WORD && !PLUS_OR_SHARP.test(text.slice(to, to + 3));
  return kindAt(text, from) !== WORD || !AFTER_SYMBOL.test(text.slice(to, to + 2));
}

function isJoined(text: string, at: number): boolean {
  const kind = kindAt(text, at);
  return kind === WORD || kind === HANGUL;
}

/** `c` is not in `c++`, `c#` and `c++17`, but `pdf` is in `pdf+docx`. */
const PLUS_OR_SHARP = /^(?:\+\+|[+#](?![\p{L}\p{N}_]))/u;
/** `c++` is in `c++17`, not in `c+++`. */
const AFTER_SYMBOL = /^[\p{L}+#]/u;
