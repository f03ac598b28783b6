import { hideKeys } from 'pith';
import { clean } from '../catalog/brief.ts';
import type { Skill } from '../skill.ts';
import { LONGEST_EXAMPLE } from './learned-examples.ts';
import { queryTerms } from './tokens.ts';

/** So many words must say what it is about, and so many of them more than the skill's own name. */
const LEAST_WORDS = 3;
const LEAST_OWN = 2;
/** What is longer brings its material with it: its words are those of the material. */
const LONGEST_MESSAGE = 2000;

/** What of a person's text is kept as an example for a skill; null where it says too little, or too much. */
export function exampleOf(text: string, { id, name }: Pick<Skill, 'id' | 'name'>): string | null {
  if (text.length > LONGEST_MESSAGE) return null;
  const kept = cut(clean(withoutPrivate(text.replace(CODE, ' '))));
  const words = queryTerms(kept);
  const own = new Set(queryTerms(`${id} ${name}`).map(({ term }) => term));
  return weightOf(words) >= LEAST_WORDS && weightOf(words.filter(({ term }) => !own.has(term))) >= LEAST_OWN ? kept : null;
}

const HIDDEN = /\[(?:hidden|secret [^\]]*)\]/g;
const CODE = /```[^]*?(?:```|$)/g;
const ADDRESS = /\b[a-z][a-z0-9+.-]*:\/\/\S+|\S+@\S+/gi;
/** "the password is …": what follows is nobody's business, whatever it looks like. */
const SPOKEN =
  /\b(?:pass(?:word|phrase|code|wort)|kennwort|pin|secret|token|api[ -]?key)\b(?:(?:\s+(?:is|ist|lautet)|\s*[=:])\s*\S+|\s+(?=\S*\d)\S+)/gi;
/** Numbers of people, accounts and cards; codes; and what no vocabulary has. */
const NUMBER = /\+?\d[\d\s().-]{4,}\d/g;
const CODE_WORD = /(?=\S*\d)(?=\S*[a-z])\S{10,}|\S{41,}/gi;

/** Without what is a key or may be one, and without what says who somebody is rather than what is to be done. */
function withoutPrivate(text: string): string {
  return [SPOKEN, ADDRESS, NUMBER, CODE_WORD].reduce((safe, pattern) => safe.replace(pattern, ' '), hideKeys(text).replace(HIDDEN, ' '));
}

/** Characters of scripts without spaces come as overlapping threes. */
function weightOf(words: ReturnType<typeof queryTerms>): number {
  return words.reduce((sum, { term }) => sum + (NO_SPACES.test(term) ? 0.5 : 1), 0);
}

const NO_SPACES = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

function cut(text: string): string {
  if (text.length <= LONGEST_EXAMPLE) return text;
  const head = text.slice(0, LONGEST_EXAMPLE);
  const space = head.lastIndexOf(' ');
  return (space > LONGEST_EXAMPLE / 2 ? head.slice(0, space) : head).replace(/[\ud800-\udbff]$/, '').trimEnd();
}
