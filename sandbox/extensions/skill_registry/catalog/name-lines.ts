import { catalogPurpose, clean } from '@pith/skill-files';
import type { Skill } from '../skill.ts';
import { fitting, type Fitting, largest, SHORTEST } from './fitting.ts';
import { headingOf, FEWEST_OF_TOPIC, OTHER } from './topics.ts';

/** Skills under one heading. */
type Groups = ReadonlyMap<string, readonly Skill[]>;

/** Characters of the words behind an id. */
const LONGEST = 100;

/**
 * The ids of `skills`, sorted by id, by first tag, else by source; null where they have no room. In what others leave of the room each
 * has words behind it, all of one length; where that is less than the shortest, only as many as fit, first those whose ids say least.
 */
export function nameLines(skills: readonly Skill[], room: number): { readonly tokens: number; within(room: number): Fitting } | null {
  const groups = [...groupsOf(skills)].sort(([a], [b]) => (a < b ? -1 : 1));
  const linesOf = (left: number, wordsOf: (skill: Skill) => string) =>
    fitting(
      idLines(groups, (skill) => `${clean(skill.id)}${wordsOf(skill)}`),
      left,
      (line) => line,
    );
  const bare = linesOf(room, () => '');
  if (bare === null) return null;
  const within = (left: number): Fitting => {
    const purposes = new Map(skills.map((skill) => [skill, catalogPurpose(skill)]));
    const words = (skill: Skill, limit: number) => purposes.get(skill)!(limit).replace(/^.+$/, ' ($&)');
    const each = largest(SHORTEST, LONGEST, (limit) => linesOf(left, (skill) => words(skill, limit)));
    if (each !== null) return each;
    const first = new Map(bySilence(skills).map((skill, place) => [skill, place]));
    return (
      largest(0, skills.length, (count) => linesOf(left, (skill) => (first.get(skill)! < count ? words(skill, SHORTEST) : ''))) ?? bare
    );
  };
  return { tokens: bare.tokens, within };
}

/** A tag that few skills have says no more than their ids would, and so does a source. */
function groupsOf(skills: readonly Skill[]): Groups {
  const tagged = gathered(skills, ({ tags: [first = ''] }) => headingOf(first));
  const [tags, untagged] = divided(tagged);
  const [sources, others] = divided(gathered(untagged, ({ source }) => headingOf(source)));
  return gathered(
    skills,
    (skill) => tags.get(skill) ?? sources.get(skill) ?? (others.length === skills.length ? headingOf(skill.source) : OTHER),
  );
}

function gathered(skills: readonly Skill[], nameOf: (skill: Skill) => string): Groups {
  const groups = new Map<string, Skill[]>();
  for (const skill of skills) {
    const name = nameOf(skill);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [skill]);
    else group.push(skill);
  }
  return groups;
}

/** The names of those in a large group, and all others. */
function divided(groups: Groups): readonly [ReadonlyMap<Skill, string>, readonly Skill[]] {
  const isLarge = (name: string, { length }: readonly Skill[]) => name !== '' && length >= FEWEST_OF_TOPIC;
  const named = [...groups].flatMap(([name, skills]) => (isLarge(name, skills) ? skills.map((skill) => [skill, name] as const) : []));
  return [new Map(named), [...groups].flatMap(([name, skills]) => (isLarge(name, skills) ? [] : skills))];
}

/** Ids on one line. */
const ON_ONE = 50;

function* idLines(groups: readonly (readonly [string, readonly Skill[]])[], entryOf: (skill: Skill) => string): Iterable<string> {
  for (const [name, skills] of groups) {
    for (let from = 0; from < skills.length; from += ON_ONE) {
      const entries = skills.slice(from, from + ON_ONE).map(entryOf);
      yield `${from === 0 ? `${name}: ` : ''}${entries.join(', ')}`;
    }
  }
}

/** First those whose ids have the fewest words and so say least; among equals none for its place in the alphabet. */
function bySilence(skills: readonly Skill[]): readonly Skill[] {
  const placed = skills.map((skill, at) => ({ skill, words: skill.id.match(/\p{L}+/gu)?.length ?? 0, place: (at * GOLDEN) % 1 }));
  return placed.sort((a, b) => a.words - b.words || a.place - b.place).map(({ skill }) => skill);
}

/** Its multiples, without what is before the point, are spread evenly, however many there are. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;
