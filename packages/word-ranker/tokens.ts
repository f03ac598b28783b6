import { stemmer } from 'stemmer';
import { STOP_WORDS } from './stop-words.ts';

/** A word of a query: the term to look up, and the word as written. `prefix`: every term that begins with it counts. */
export interface QueryTerm {
  readonly term: string;
  readonly word: string;
  readonly prefix: boolean;
}

/** Calls `add` for every term of a text, repeated ones too. */
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

/** Calls `add` for every word of ASCII letters in lower case, and for the parts of those in camelCase; repeated ones too. */
export function eachPlainWord(text: string, add: (word: string) => void): void {
  eachWord(text, (word) => {
    if (isAscii(word) && word.length <= MAX_WORD) eachPart(word, (part) => add(part.toLowerCase()));
  });
}

/** Lower case, without accents and punctuation, words joined by one space. For comparing names. */
export function plain(text: string): string {
  if (PLAIN_ID.test(text)) return text.replaceAll('-', ' ');
  const folded = fold(text.normalize('NFKC'));
  return folded.replace(isAscii(folded) ? /[^a-zA-Z0-9+#]+/g : /[^\p{L}\p{M}\p{N}+#]+/gu, ' ').trim();
}

/** The form of most ids and tags. */
const PLAIN_ID = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const MAX_WORD = 40;
const MAX_REMEMBERED = 50_000;
const terms = new Map<string, readonly string[]>();

/** Compiled on first use: expressions over all of Unicode take longer to compile than a start's texts, which are ASCII, take to read. */
function isSpaceless(word: string): boolean {
  return (
    !isAscii(word) &&
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u.test(word)
  );
}

function hasHump(word: string): boolean {
  return isAscii(word) ? /[a-z][A-Z]|[A-Z]{2}[a-z]/.test(word) : /\p{Ll}\p{Lu}|\p{Lu}\p{Lu}\p{Ll}/u.test(word);
}

/** The word itself and, for camelCase, its parts. */
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

/** Three characters from every position, fewer at the end, so that a query of one or two characters matches a prefix. */
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

/** A word's terms, cached: texts repeat few words often, and stemming costs more than a look-up. */
function remember(word: string): readonly string[] {
  const made: string[] = [];
  eachPart(word, (part) => addWord(part, (term) => made.push(term)));
  if (terms.size >= MAX_REMEMBERED) terms.clear();
  terms.set(Buffer.from(word).toString(), made); // a copy: a slice would keep its whole text in memory
  return made;
}

/** The indexed form of an English word where the stemmer alone would keep two spellings or forms apart. */
function wordForm(word: string): string {
  return FORMS.get(word) ?? word.replace(OUR, 'or$1').replace(ISE, 'iz$1').replace(LOGUE, 'log$1');
}

/** British and American spelling. Words that only look so, such as exercise, change in texts and queries alike. */
const OUR = /(?<=[a-z]{2})our(s|ed|ing|al|ful|able|ite|ites)?$/;
const ISE = /(?<=[a-z]{3})is(e|ed|es|er|ers|ing|ation|ations)$/;
const LOGUE = /(?<=[a-z]{2})logue(s?)$/;

/** The first word of each line is the form of the others. */
const FORMS: ReadonlyMap<string, string> = new Map(
  `analyze analyse analysed analyses analysing analysis|
  artifact artefact artefacts|begin began begun|break broke broken|bring brought|build built|buy bought|catch caught|center centre centres|
  child children|choose chose chosen|come came|criterion criteria|draw drew drawn|drive drove driven|eat ate eaten|fall fell fallen|
  feed fed|feel felt|fiber fibre fibres|find found|fly flew flown|forget forgot forgotten|freeze froze frozen|grow grew grown|hear heard|hide hid hidden|
  hold held|index indices indexes|keep kept|know knew known|learn learnt|leave left|lend lent|license licence licences|liter litre litres|lose lost|
  make made|man men|matrix matrices|mean meant|meet met|meter metre metres|mouse mice|pay paid|person people persons|practice practise practised|
  program programme programmes|ride rode ridden|ring rang rung|run ran|say said|see saw seen|sell sold|send sent|shoot shot|show shown|sing sang sung|
  sleep slept|speak spoke spoken|spend spent|steal stole stolen|swim swam swum|take took taken|teach taught|tell told|theater theatre theatres|
  think thought|throw threw thrown|understand understood|vertex vertices|wake woke woken|wear wore worn|win won|woman women|write wrote written`
    .split('|')
    .flatMap((line) => {
      const [form = '', ...others] = line.trim().split(/\s+/);
      return others.map((other): [string, string] => [other, form]);
    }),
);

/** Calls `add` for every run of letters, marks and digits. Several times faster than a regular expression over the whole text. */
function eachWord(text: string, add: (word: string) => void): void {
  const normal = isAscii(text) ? text : text.normalize('NFKC');
  let begin = -1;
  for (let at = 0; at < normal.length; at++) {
    const unit = normal.charCodeAt(at);
    const pair = unit >= 0xd800 && unit <= 0xdbff && at + 1 < normal.length;
    if (pair ? isWord(normal.slice(at, at + 2)) : isWordUnit(unit)) {
      if (begin < 0) begin = at;
    } else if (begin >= 0) {
      add(normal.slice(begin, at));
      begin = -1;
    }
    if (pair) at++;
  }
  if (begin >= 0) add(normal.slice(begin));
}

const ASCII_WORD = /[a-zA-Z0-9]/;
const BEYOND_ASCII = /[\u0080-\uffff]/;
const UNKNOWN = 0;
const YES = 1;
const NO = 2;
const units = new Uint8Array(65_536);

function isWordUnit(unit: number): boolean {
  if (units[unit] === UNKNOWN) units[unit] = isWord(String.fromCharCode(unit)) ? YES : NO;
  return units[unit] === YES;
}

function isAscii(text: string): boolean {
  return !BEYOND_ASCII.test(text);
}

function isWord(character: string): boolean {
  return isAscii(character) ? ASCII_WORD.test(character) : /^[\p{L}\p{M}\p{N}]/u.test(character);
}
