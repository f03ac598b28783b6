import type { SkillFields } from '../format/fields.ts';
import { clean, cut } from './brief.ts';
import { whenSentence } from './when-sentence.ts';

type Described = Pick<SkillFields, 'brief' | 'description'>;

/** The most characters of a line with a whole description. */
export const WHOLE_LINE = 350;
const DEFAULT_LINE = 160;
/** In a shorter line, two halves say less than one, and there is no room for "Use when asked to". */
const SHARED_LINE = 60;

/** A skill's line in a catalog, with at most `limit` characters of its purpose. */
export function catalogLine(skill: Described & { readonly id: string }, limit = DEFAULT_LINE): string {
  return lineOf(clean(skill.id), catalogPurpose(skill)(limit));
}

/** A catalog line from clean texts; the id alone where `purpose` is empty. */
export function lineOf(id: string, purpose: string): string {
  return purpose === '' ? `• \`${id}\`` : `• \`${id}\` — ${purpose}`;
}

/**
 * A skill's purpose as one printable line of at most the given number of characters: the whole description, else its start or the brief
 * one, which shares the room with the sentence on when to use it. Splits the description once.
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

/** Both texts, each cut where it is longer than its half and than the room that the other leaves. */
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
