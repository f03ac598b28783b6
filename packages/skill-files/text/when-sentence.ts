import { sentenceEnd } from './brief.ts';

/** A description, split at the sentence that says when to use the skill. */
export interface WhenSentence {
  /** The text before it, without the joint. */
  readonly before: string;
  /** The sentence with its opening in the shortest form: "Use when", "Use for". */
  readonly when: string;
  /** The text after that opening, without "asked to"; the whole sentence where the opening says before or after. */
  readonly said: string;
  /** The offset in the description where the sentence ends. */
  readonly end: number;
}

/** The sentence of a one-line description that says when to use the skill; null where there is none. */
export function whenSentence(text: string): WhenSentence | null {
  const found = USE_WHEN.exec(text) ?? CAPITAL.exec(text) ?? AT_LAST.exec(text);
  if (found === null) return null;
  const end = sentenceEnd(text, found.index);
  const before = text.slice(0, found.index);
  const said = text.slice(found.index + found[0].length, end);
  const inside = before.endsWith('(') ? said.replace(/\)(?=[.!?]?$)/, '') : said;
  const rest = asked(inside);
  const when = `${openingOf(found)}${rest}`;
  return {
    before: before.replace(JOINT, ''),
    when,
    said: /\b(?:before|after|while)$/i.test(found[0]) ? when : rest.replace(OPENING, ''),
    end,
  };
}

const BEGINNING = String.raw`(?<=^|[.!?]["'”)]? |[。！？;:—–(] ?|- )`;
const ADVERB = '(?: (?:only|proactively|automatically|immediately|specifically|primarily))?';
const OBJECT = '(?: (?:it|this|(?:this|the) (?:skill|agent|tool|guide|command|workflow)))?';
const VERB = '(?<verb>used?|invoked?|triggers?|triggered|activate[sd]?|apply|applies|load|consult)';
const WORD = '(?<word>when(?:ever)?|for|if|before|after|while|on|to)';
const SUBJECT =
  '(?:also |always |only |please )?(?:(?:(?:this|the) skill|it|this|you) (?:should|must|can|may|is) (?:only |always )?(?:be )?)?';

/** "Use when", "Use this skill for", "This skill should be used when", "Triggers on", "When to use". */
const USE_WHEN = new RegExp(
  [
    `${BEGINNING}${SUBJECT}${VERB}${OBJECT}${ADVERB}${OBJECT} ${WORD}\\b`,
    `(?<=, |\\band )use${OBJECT} (?:when(?:ever)?)\\b`,
    `${BEGINNING}when to (?:use|invoke|apply|load)\\b`,
  ].join('|'),
  'i', // with 'u' it would be compiled for the letters of all alphabets, which takes twice as long
);
/** Where a line ended without a full stop. */
const CAPITAL = new RegExp(`(?<= )(?<verb>Use)${OBJECT} (?<word>when(?:ever)?)\\b`, 'u');
/** Many such sentences begin without the word use. */
const AT_LAST = /(?<=^|[.!?] |[。！？])When(?:ever)?\b(?= )/u;
const JOINT = /[\s,;:(—–-]+$/u;
const OPENING = /^[\s,;:—–-]*(?:asked (?:to|for|about) )?/u;

function openingOf({ 0: opening, groups }: RegExpExecArray): string {
  const plain = /^(?:use|invoke|apply|appl|load|consult)/i.test(groups?.verb ?? '') && !/\bonly\b/i.test(opening);
  const said = plain ? `use ${groups!.word}` : opening;
  return said.charAt(0).toUpperCase() + said.slice(1);
}

/** "the user asks to" says no more than "asked to". */
function asked(said: string): string {
  return said.replace(/^ (?:the |a )?(?:users?|someone|somebody|people) (?:asks?|wants?) (to|for|about)\b/i, ' asked $1');
}
