import { printableLine } from '@pith/plain-text';
import type { SkillFields } from '../format/fields.ts';
import { firstSentence } from './sentence.ts';

/** `brief_description`, else the description's first sentence, as one harmless line of at most `limit` characters. */
export function briefOf(skill: Pick<SkillFields, 'brief' | 'description'>, limit = 160): string {
  const brief = skill.brief === null ? '' : clean(skill.brief);
  return cut(brief === '' ? firstSentence(clean(skill.description)) : brief, limit);
}

/** Prose as one printable line. Names, in which a space or a line's end counts, go to `printableLine` as they are. */
export function clean(text: string): string {
  return PLAIN.test(text) ? text : printableLine(text.replace(/\s+/gu, ' ').trim());
}

/** One line of printable ASCII, as most are. */
const PLAIN = /^(?:[!-~]+(?: [!-~]+)*)?$/;

/** The beginning of a text, at most `limit` characters, between words where that loses little; a mark says so, unless a sentence ends there. */
export function cut(text: string, limit: number): string {
  const characters = [...text];
  if (characters.length <= limit) return text;
  const head = characters.slice(0, limit - 1).join('');
  const space = head.lastIndexOf(' ');
  const words = (space > head.length * 0.6 ? head.slice(0, space) : head).replace(/[\s,;:(—–-]+$/u, '');
  return /[.!?。！？]$/u.test(words) ? words : `${words}…`;
}
