import { printableLine } from '@pith/plain-text';
import type { SkillFields } from '../format/fields.ts';

const LIMIT = 160;

/** A skill's one line in the catalog; with a limit of 0 its id alone. */
export function catalogLine(skill: Pick<SkillFields, 'brief' | 'description'> & { readonly id: string }, limit = LIMIT): string {
  const brief = limit === 0 ? '' : briefOf(skill, limit);
  return brief === '' ? `• \`${clean(skill.id)}\`` : `• \`${clean(skill.id)}\` — ${brief}`;
}

/** `brief_description`, else the description's first sentence, as one harmless line of at most `limit` characters. */
export function briefOf(skill: Pick<SkillFields, 'brief' | 'description'>, limit = LIMIT): string {
  const brief = skill.brief === null ? '' : clean(skill.brief);
  return cut(brief === '' ? firstSentence(clean(skill.description)) : brief, limit);
}

/** Prose as one printable line. Names, in which a space or a line's end counts, go to `printableLine` as they are. */
export function clean(text: string): string {
  return PLAIN.test(text) ? text : printableLine(text.replace(/\s+/gu, ' ').trim());
}

/** One line of printable ASCII, as most are. */
const PLAIN = /^(?:[!-~]+(?: [!-~]+)*)?$/;
const SENTENCE_END = /[.!?](?=\s+["'“(`]?\p{Lu}|$)|[。！？]/gu;
const ABBREVIATION = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|incl|approx|resp|no|dr|mr|ms|mrs|prof|st|inc|ltd)$/i;

function firstSentence(text: string): string {
  for (const end of text.matchAll(SENTENCE_END)) {
    if (!ABBREVIATION.test(text.slice(0, end.index))) return text.slice(0, end.index + end[0].length);
  }
  return text;
}

function cut(text: string, limit: number): string {
  const characters = [...text];
  if (characters.length <= limit) return text;
  const head = characters.slice(0, limit - 1).join('');
  const space = head.lastIndexOf(' ');
  return `${(space > head.length * 0.6 ? head.slice(0, space) : head).trimEnd()}…`;
}
