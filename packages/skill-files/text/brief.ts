import { printableLine, withCure } from '@pith/plain-text';
import type { SkillFields } from '../format/fields.ts';
import type { ParsedSkill } from '../format/skill-file.ts';

/** `brief_description`, else the description's first sentence, as one printable line of at most `limit` characters. */
export function briefOf(skill: Pick<SkillFields, 'brief' | 'description'>, limit = 160): string {
  const brief = skill.brief === null ? '' : clean(skill.brief);
  return cut(brief === '' ? firstSentence(clean(skill.description)) : brief, limit);
}

/** Prose as one printable line. Use `printableLine` for names, in which spaces and line ends matter. */
export function clean(text: string): string {
  return PLAIN.test(text) ? text : printableLine(text.replace(/\s+/gu, ' ').trim());
}

/** One line of printable ASCII, as most are. */
const PLAIN = /^(?:[!-~]+(?: [!-~]+)*)?$/;

/** The start of a text, at most `limit` characters, preferably whole words. A mark shows the cut, unless a sentence ends there. */
export function cut(text: string, limit: number): string {
  const characters = [...text];
  if (characters.length <= limit) return text;
  const head = characters.slice(0, limit - 1).join('');
  const space = head.lastIndexOf(' ');
  const words = (space > head.length * 0.6 ? head.slice(0, space) : head).replace(/[\s,;:(—–-]+$/u, '');
  return /[.!?。！？]$/u.test(words) ? words : `${words}…`;
}

/** The first sentence of a one-line text; all of it where none ends earlier. */
export function firstSentence(text: string): string {
  return text.slice(0, sentenceEnd(text, 0));
}

/** Where the sentence at `from` of a one-line text ends. */
export function sentenceEnd(text: string, from: number): number {
  END.lastIndex = from;
  for (let end = END.exec(text); end !== null; end = END.exec(text)) {
    if (!ABBREVIATION.test(text.slice(Math.max(from, end.index - 10), end.index))) return end.index + end[0].length;
  }
  return text.length;
}

const END = /[.!?](?=\s+["'“(`]?\p{Lu}|$)|[。！？]/gu;
const ABBREVIATION = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|incl|approx|resp|no|dr|mr|ms|mrs|prof|st|inc|ltd)$/i;

type Diagnostic = ParsedSkill['diagnostics'][number];

/** `file:line:column: severity: message; cure`, with as much of the place as is known. */
export function diagnosticText({ severity, message, file, line, column, cure }: Diagnostic): string {
  const place = file === undefined ? '' : `${[file, line, column].filter((part) => part !== undefined).join(':')}: `;
  return clean(withCure(`${place}${severity}: ${message}`, cure));
}

/** The diagnostic as `--json` prints it. */
export function diagnosticJson({ severity, code, message, file, line, column, cure }: Diagnostic): {
  [key: string]: string | number | null;
} {
  return {
    severity,
    code,
    message,
    file: file ?? null,
    line: line ?? null,
    column: column ?? null,
    ...(cure === undefined ? {} : { cure }),
  };
}
