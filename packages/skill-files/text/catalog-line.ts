import type { SkillFields } from '../format/fields.ts';
import { clean, cut } from './brief.ts';
import { whenSentence } from './when-sentence.ts';

type Described = Pick<SkillFields, 'brief' | 'description'>;

/** A line of a whole description has at most so many characters. */
export const WHOLE_LINE = 350;
const DEFAULT_LINE = 160;
/** Two halves of a shorter line say less than one, and "Use when asked to" is more than it has room for. */
const SHARED_LINE = 60;

/** A skill's one line in a catalog, `limit` characters of what it is for. */
export function catalogLine(skill: Described & { readonly id: string }, limit = DEFAULT_LINE): string {
  return lineOf(clean(skill.id), catalogPurpose(skill)(limit));
}

/** A line of a catalog, of clean texts; the id alone where the other is empty. */
export function lineOf(id: string, purpose: string): string {
  return purpose === '' ? `• \`${id}\`` : `• \`${id}\` — ${purpose}`;
}

/**
 * What a skill is for as one harmless line of at most so many characters: the whole description, else its beginning, or the brief
 * one, which shares the room with the sentence that says when to use it. The description is taken apart once.
 */
export function catalogPurpose(skill: Described): (limit: number) => string {
  const whole = clean(skill.description);
  const length = lengthOf(whole);
  const brief = skill.brief === null ? '' : clean(skill.brief);
  const found = whenSentence(whole);
  const before = brief !== '' ? brief : (found?.before ?? whole);
  const reached = found === null || brief !== '' ? Infinity : lengthOf(whole.slice(0, found.end));
  return (limit) => {
    if (length <= limit || reached < limit) return cut(whole, limit);
    if (found === null) return cut(before, limit);
    if (limit < SHARED_LINE) return cut(before === '' ? found.said : before, limit);
    return before === '' ? cut(found.when, limit) : shared(before, found.when, limit);
  };
}

/** Both, each cut where it is longer than its half and than what the other leaves. */
function shared(does: string, when: string, limit: number): string {
  const ended = /[\p{L}\p{N}]$/u.test(does) ? `${does}.` : does;
  const room = limit - 1;
  const forWhen = Math.max(Math.ceil(room / 2), room - lengthOf(ended));
  const last = cut(when, forWhen);
  return `${cut(ended, room - lengthOf(last))} ${last}`;
}

function lengthOf(text: string): number {
  return [...text].length;
}
