import { STOP_WORDS } from '@pith/word-ranker';
import type { Skill } from '../skill.ts';
import { headingOf } from './heading.ts';

/** A word that several skills share. */
export interface Topic {
  readonly name: string;
  /** Sorted as the skills are; first those that have the word in their tags or id. */
  readonly ids: readonly string[];
  /** How many those are. */
  readonly named: number;
}

/** What skills of no topic are called. */
export const OTHER = 'other';
/** A topic of fewer skills says no more than their ids would. */
export const FEWEST_OF_TOPIC = 3;

/** Of a description, where the first sentence is. */
const READ = 200;
/** A word that more of the skills have does not tell them apart. */
const SHARE = 0.9;
/** The same of words of descriptions; the second where all words are more frequent than the first says. */
const DESCRIBED_SHARES = [1 / 5, 2 / 3];

/**
 * What `skills`, sorted by id, are about, in at most `most` topics sorted by name: each skill counts once. The topics are tags and words of ids that many
 * share, chosen so that each adds as many skills as possible; skills without one join the topic that their description names, and
 * what words of descriptions tell apart makes further topics. A source is no topic: it says where skills come from. The rest comes last.
 */
export function topicsOf(skills: readonly Skill[], most: number): readonly Topic[] {
  const topicOf: (string | undefined)[] = skills.map(() => undefined);
  const named = skills.map(ownWords);
  const topics = new Set(choose(named, topicOf, most, skills.length * SHARE));
  const isNamed = topicOf.map((topic) => topic !== undefined);
  const described = skills.map((skill, at) => (isNamed[at] ? [] : describingWords(skill)));
  described.forEach((words, at) => (topicOf[at] ??= words.find((word) => topics.has(word))));
  for (const share of DESCRIBED_SHARES) {
    const left = topicOf.filter((topic) => topic === undefined).length;
    for (const topic of choose(described, topicOf, most - topics.size, Math.max(FEWEST_OF_TOPIC, left * share))) topics.add(topic);
  }
  const found = new Map<string | undefined, { readonly named: string[]; readonly described: string[] }>();
  for (const name of [...[...topics].sort(), undefined]) found.set(name, { named: [], described: [] });
  skills.forEach(({ id }, at) => found.get(topicOf[at])![isNamed[at] ? 'named' : 'described'].push(id));
  return [...found].flatMap(([name = OTHER, { named: own, described }]) => {
    const ids = [...own, ...described];
    return ids.length === 0 ? [] : { name, ids, named: own.length };
  });
}

/** Chooses words, each the one that most skills without a topic have, and gives them that topic. A word of more than `largest` skills is none. */
function choose(
  wordsOf: readonly (readonly string[])[],
  topicOf: (string | undefined)[],
  most: number,
  largest: number,
): readonly string[] {
  const having = new Map<string, number[]>();
  wordsOf.forEach((words, at) => {
    if (topicOf[at] !== undefined) return;
    for (const word of words) {
      const places = having.get(word);
      if (places === undefined) having.set(word, [at]);
      else places.push(at);
    }
  });
  const open = new Map<string, number>();
  for (const [word, { length }] of having) if (length >= FEWEST_OF_TOPIC && length <= largest) open.set(word, length);
  const chosen: string[] = [];
  while (chosen.length < most) {
    let best: string | undefined;
    let count = FEWEST_OF_TOPIC - 1;
    for (const [word, number] of open)
      if (number > count || (number === count && best !== undefined && word < best)) [best, count] = [word, number];
    if (best === undefined) break;
    chosen.push(best);
    for (const at of having.get(best)!) {
      if (topicOf[at] !== undefined) continue;
      topicOf[at] = best;
      for (const word of wordsOf[at]!) if (open.has(word)) open.set(word, open.get(word)! - 1);
    }
  }
  return chosen;
}

/** Tags and the words of an id, each once, in small letters. */
function ownWords({ id, tags }: Skill): readonly string[] {
  const found = new Set(tags.map((tag) => headingOf(tag).toLowerCase()));
  for (const word of id.toLowerCase().split(NO_WORD)) if (word.length > 1 && isOfSubject(word)) found.add(word);
  found.delete('');
  found.delete(OTHER);
  return [...found];
}

function describingWords({ description }: Skill): readonly string[] {
  const words = description.slice(0, READ).toLowerCase().split(NO_WORD);
  return [...new Set(words.filter((word) => word.length > 2 && isOfSubject(word)))];
}

const NO_WORD = /[^\p{L}\p{M}]+/u;

function isOfSubject(word: string): boolean {
  return !GENERAL.has(word) && !STOP_WORDS.has(word);
}

/** Words that say what kind of thing a skill is, and nothing of its subject. */
const GENERAL: ReadonlySet<string> = new Set(
  (
    'skill skills agent agents tool tools helper helpers guide guides guidelines basics basic pro expert experts engineer developer specialist ' +
    'senior junior manager builder creator generator writer maker assistant architect analyst master best practices practice patterns pattern ' +
    'advanced techniques technique templates template setup new how other comprehensive asks asked create creating build building develop ' +
    'developing write writing implement implementing provides providing including include includes based across covers step steps triggers ' +
    'proactively handle handles handling support supports complete working work works needs task tasks workflow workflows'
  ).split(' '),
);
