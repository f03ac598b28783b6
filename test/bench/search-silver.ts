import type { Need } from './search-data.ts';
import type { PooledSkill } from './search-padding.ts';

export interface Silver {
  /** The skills without what is asked for. */
  readonly skills: readonly PooledSkill[];
  readonly needs: readonly Need[];
}

const WORDS = 25;
const SAYS_WHEN = /^(also )?(use|when|trigger|invoke|apply|this skill should be used|for )/i;
const LIST_OF_USES = /^#+[^\n]*when[^\n]*use[^\n]*\n+((?:[-*\d][^\n]+\n?)+)/im;
const SENTENCE = /^[A-Z][^|`]{40,300}$/;
const PREAMBLE =
  /^(also )?(use (this |it )?(skill )?(proactively )?(when(ever)?|for|to)?|when(ever)?|triggers? (on|when)|invoke (when|for)|apply when|this skill should be used when)( the)?( users?)?( asks?| wants?| needs?| mentions?)?( to)?:?/i;

/**
 * Takes a sentence out of each skill, best one that says when to use it, and asks for the skill by it. Others that have the
 * same name or the same sentence are right too. Its authors use their own words, so it is easier than what people say.
 */
export function silver(skills: readonly PooledSkill[]): Silver {
  const needs: Need[] = [];
  const changed = skills.map((skill) => {
    const sentence = sentenceOf(skill);
    if (sentence === null) return skill;
    const text = sentence
      .replace(/^[-*\d.\s]+/, '')
      .replace(PREAMBLE, '')
      .split(/\s+/)
      .slice(0, WORDS)
      .join(' ')
      .trim();
    const also_right = skills.filter((other) => other !== skill && isCopy(other, skill, sentence)).map(({ id }) => id);
    needs.push({ qid: `silver ${skill.id}`, gold: skill.id, user: text, keywords: text, also_right });
    const without = (whole: string) => whole.split(sentence).join(' ');
    return { ...skill, description: without(skill.description), body: without(skill.body) };
  });
  return { skills: changed, needs };
}

function sentenceOf({ description, body }: PooledSkill): string | null {
  const sentences = description.split(/(?<=[.!?])\s+/);
  const said = sentences.length > 1 ? sentences.find((sentence) => SAYS_WHEN.test(sentence) && sentence.length > 30) : undefined;
  const listed = LIST_OF_USES.exec(body)?.[1]
    ?.split('\n')
    .find((line) => line.length > 25);
  return said ?? listed ?? body.split('\n').find((line) => SENTENCE.test(line)) ?? null;
}

function isCopy(other: PooledSkill, skill: PooledSkill, sentence: string): boolean {
  return other.name === skill.name || other.description.includes(sentence) || other.body.includes(sentence);
}
