import type { SkillFields } from '../format/fields.ts';
import { briefOf, clean, cut } from './brief.ts';
import { firstSentence } from './sentence.ts';
import { whenSentence } from './when-sentence.ts';

type Described = Pick<SkillFields, 'brief' | 'description'>;

/** A line of a whole description has at most so many characters. */
export const WHOLE_LINE = 350;
/** A line of more characters shows the description, one of fewer the brief description and when to use the skill. */
const BRIEF_LINE = 160;
/** Two halves of a shorter line say less than one: no room is left for more than "Use when asked to…". */
const SHARED_LINE = 60;

/** A skill's one line in a catalog, `limit` characters of what it is for; with a limit of 0 its id alone. */
export function catalogLine(skill: Described & { readonly id: string }, limit = BRIEF_LINE): string {
  const purpose = limit === 0 ? '' : purposeOf(skill, limit);
  return purpose === '' ? `• \`${clean(skill.id)}\`` : `• \`${clean(skill.id)}\` — ${purpose}`;
}

/** What a skill is for as one harmless line of at most `limit` characters. The sentence that says when to use it shares the room with what it does. */
function purposeOf(skill: Described, limit: number): string {
  const whole = clean(skill.description);
  const brief = limit > BRIEF_LINE || skill.brief === null ? '' : clean(skill.brief);
  if (brief === '' && lengthOf(whole) <= limit) return whole;
  const found = limit < SHARED_LINE ? null : whenSentence(whole);
  if (found === null) return limit > BRIEF_LINE ? cut(whole, limit) : briefOf(skill, limit);
  const { before, when, end } = found;
  if (limit > BRIEF_LINE && lengthOf(whole.slice(0, end)) < limit) return cut(whole, limit);
  const does = brief !== '' ? brief : limit > BRIEF_LINE ? before : firstSentence(before);
  return does === '' ? cut(when, limit) : shared(does, when, limit);
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
