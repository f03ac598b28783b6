import type { SkillRecord } from 'pith/skill_registry';
import type { TriggerDecision } from './decision.ts';

/** What a text brings of one skill, as the first message of a conversation, for `pith skills explain`. */
export function explanationOf(skill: SkillRecord, text: string, { tier, why, matches, chosen }: TriggerDecision, maxSkills: number) {
  const at = matches.findIndex((one) => one.skill.id === skill.id);
  const hits = [...(matches[at]?.hits ?? [])];
  const rank = at === -1 ? null : at + 1;
  const brought = chosen.some(({ id }) => id === skill.id);
  const lines = [
    `triggers: '${text}' is of tier ${tier}, ${why}`,
    hits.length === 0
      ? 'triggers: the text has none of this skill'
      : `triggers: it has ${hits.join(', ')}${brought ? ', and brings its text' : '; others come before it'}`,
    ...(rank === null ? [] : [`triggers: rank ${rank} of ${matches.length}; at most ${maxSkills} are brought unless named (max_skills)`]),
  ];
  return { lines, json: { text, tier, why, hits, rank, of: matches.length, maxSkills, brought } };
}

/** The same for an agent with a catalog, to which what matches is only suggested. */
export function suggestionOf(skill: SkillRecord, { matches, chosen }: TriggerDecision) {
  const hits = [...(matches.find((one) => one.skill.id === skill.id)?.hits ?? [])];
  const suggested = chosen.some(({ id }) => id === skill.id);
  const meaning = suggested ? ', so it is suggested beside the message' : '; others come before it';
  return {
    lines: [`triggers: the text has ${hits.length === 0 ? 'none of this skill' : `${hits.join(', ')}${meaning}`}`],
    json: { hits, suggested },
  };
}
