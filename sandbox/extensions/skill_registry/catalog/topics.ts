import { STOP_WORDS } from '@pith/word-ranker';
import type { Skill } from '../skill.ts';
import { clean } from '@pith/skill-files';
import { mostTokens } from '@pith/token-count';
import { fitting, type Fitting, largest } from './fitting.ts';

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
function topicsOf(skills: readonly Skill[], most: number): readonly Topic[] {
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

/** A tag or a source as a heading. What begins a line is read as Pith's own words where it looks like them: `[System]`, a list, code. */
export function headingOf(text: string): string {
  const plain = clean(text.replace(/[^\p{L}\p{M}\p{N}/@#&+._~-]+/gu, ' '));
  return [...plain.replace(/^(?!~\/)[^\p{L}\p{N}/]+/u, '')].slice(0, 40).join('').trim();
}

/** Room of a topic with an example or two, and skills of one, on an average: more topics would have fewer. */
const TOKENS = 30;
const SKILLS = 8;

const NOTHING: Fitting = { lines: [], tokens: 0 };

/** The topics of `skills`, sorted by id, with their counts, and as many of their ids as have room, of each topic as many as of the others. `pinnedToo`: those that should have a line and have none. */
export function topicLines(skills: readonly Skill[], pinnedToo: readonly Skill[], room: number): Fitting {
  const also = pinnedToo.length === 0 ? [] : [{ name: 'also pinned', ids: pinnedToo.map(({ id }) => id), named: pinnedToo.length }];
  for (let most = Math.floor(Math.min(room / TOKENS, skills.length / SKILLS)); most > 0; most >>= 1) {
    const found = withExamples([...also, ...topicsOf(skills, most)], room);
    if (found !== null) return found;
  }
  return withExamples(also, room) ?? NOTHING;
}

/** An id among others is taken to cost so much of what the first ones do: more than so many are not tried. */
const CHEAPEST = 0.6;
const SAMPLE = 50;

/** null where not even the counts have room. */
function withExamples(topics: readonly Topic[], room: number): Fitting | null {
  const sizes = topics.map(({ ids }) => ids.length);
  const ids = topics.flatMap((topic) => topic.ids.slice(0, SAMPLE));
  const cost = (CHEAPEST * mostTokens(ids.join(', '))) / Math.max(1, ids.length);
  const most = Math.min(
    sizes.reduce((sum, size) => sum + size, 0),
    Math.ceil(room / Math.max(1, cost)),
  );
  const isOne = topics.length === 1;
  return largest(0, most, (count) => {
    const shares = sharesOf(sizes, count);
    return fitting(topics.entries(), room, ([at, topic]) => lineOf(topic, shares[at]!, isOne));
  });
}

/** `count` in equal shares, none larger than its size. */
function sharesOf(sizes: readonly number[], count: number): readonly number[] {
  const shares = sizes.map(() => 0);
  let open = [...sizes.keys()];
  for (let left = count; left > 0 && open.length > 0; open = open.filter((at) => shares[at]! < sizes[at]!)) {
    const more = open.slice(0, left);
    for (const at of more) shares[at]!++;
    left -= more.length;
  }
  return shares;
}

/** The examples are spread over those that have the word in their id or tags: ids that begin alike are beside each other. */
function lineOf({ name, ids, named }: Topic, share: number, isOne: boolean): string {
  const from = share <= named ? named : ids.length;
  const examples = Array.from({ length: share }, (_, at) => clean(ids[Math.floor((at * from) / share)]!)).sort();
  const head = isOne && name === OTHER ? 'For example' : `${name} (${ids.length})`;
  if (share === 0) return head;
  return `${head}: ${examples.join(', ')}${share < ids.length ? ', …' : ''}`;
}
