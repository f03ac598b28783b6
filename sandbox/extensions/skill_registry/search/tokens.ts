import { stemmer } from 'stemmer';
import { STOP_WORDS } from './stop-words.ts';
import { wordForm } from './word-forms.ts';
import { eachWord, isAscii } from './words.ts';

/** A word of a query: what to look up, and as it was written. `prefix`: any posting that begins with the term counts. */
export interface QueryTerm {
  readonly term: string;
  readonly word: string;
  readonly prefix: boolean;
}

/** Calls `add` for every term of a document's text, repeated ones too. */
export function eachTerm(text: string, add: (term: string) => void): void {
  eachWord(text, (word) => {
    const known = terms.get(word);
    if (known !== undefined) for (let at = 0; at < known.length; at++) add(known[at]!);
    else if (isSpaceless(word)) eachGram(word, add);
    else for (const term of remember(word)) add(term);
  });
}

/** The distinct terms of a query, in order of appearance. */
export function queryTerms(text: string): readonly QueryTerm[] {
  const found = new Map<string, QueryTerm>();
  const add = (term: string, word: string, prefix = false): void => {
    if (!found.has(term)) found.set(term, { term, word, prefix });
  };
  eachWord(text, (word) => {
    if (isSpaceless(word)) {
      for (const run of runsOf(word)) {
        if (!isSpaceless(run)) addWord(run, (term) => add(term, run));
        else if ([...run].length < 3) add(run, run, true);
        else eachGram(run, (gram) => [...gram].length === 3 && add(gram, gram));
      }
    } else {
      eachPart(word, (part) => addWord(part, (term) => add(term, part)));
    }
  });
  return [...found.values()];
}

/** Lower case, without accents and punctuation, words joined by one space. For comparing names. */
export function plain(text: string): string {
  if (PLAIN_ID.test(text)) return text.replaceAll('-', ' ');
  const folded = fold(text.normalize('NFKC'));
  return folded.replace(isAscii(folded) ? /[^a-zA-Z0-9+#]+/g : /[^\p{L}\p{M}\p{N}+#]+/gu, ' ').trim();
}

/** As most ids and tags are. */
const PLAIN_ID = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const MAX_WORD = 40;
const MAX_REMEMBERED = 50_000;
const terms = new Map<string, readonly string[]>();

/** Expressions over all of Unicode take a start longer to make than its texts, which are ASCII: they are made when they are needed. */
function isSpaceless(word: string): boolean {
  return (
    !isAscii(word) &&
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u.test(word)
  );
}

function hasHump(word: string): boolean {
  return isAscii(word) ? /[a-z][A-Z]|[A-Z]{2}[a-z]/.test(word) : /\p{Ll}\p{Lu}|\p{Lu}\p{Lu}\p{Ll}/u.test(word);
}

/** The word itself and, where it is written in camelCase, its humps. */
function eachPart(word: string, add: (part: string) => void): void {
  add(word);
  if (!hasHump(word)) return;
  for (const hump of word.match(/\p{Lu}+(?!\p{Ll})\p{N}*|\p{Lu}?\p{Ll}+\p{N}*|\p{N}+|[\p{L}\p{M}]+/gu) ?? [])
    if (hump !== word && hump.length > 1) add(hump);
}

function addWord(word: string, add: (term: string) => void): void {
  if (word.length > MAX_WORD) return; // an encoded blob, not a word
  const lower = fold(word);
  if (!STOP_WORDS.has(lower)) add(stemOf(lower));
}

/** Three characters from every position, shorter at the end, so that a query of one or two finds its beginning. */
function eachGram(word: string, add: (gram: string) => void): void {
  for (const run of runsOf(word)) {
    if (!isSpaceless(run)) {
      addWord(run, add);
      continue;
    }
    const characters = [...run];
    for (let at = 0; at < characters.length; at++) add(characters.slice(at, at + 3).join(''));
  }
}

function runsOf(word: string): readonly string[] {
  return (
    word.match(
      /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{M}ー]+|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu,
    ) ?? []
  );
}

function fold(text: string): string {
  const lower = text.toLowerCase();
  return isAscii(lower)
    ? lower
    : lower
        .normalize('NFD')
        .replace(/(\p{Script=Latin})\p{M}+/gu, '$1')
        .normalize('NFC');
}

function stemOf(word: string): string {
  return /^[a-z]{3,}$/.test(word) ? stemmer(wordForm(word)) : word;
}

/** A word's terms; texts repeat few words often, and stemming costs more than a look-up. */
function remember(word: string): readonly string[] {
  const made: string[] = [];
  eachPart(word, (part) => addWord(part, (term) => made.push(term)));
  if (terms.size >= MAX_REMEMBERED) terms.clear();
  terms.set(Buffer.from(word).toString(), made); // a copy: a slice would keep its whole text alive
  return made;
}
