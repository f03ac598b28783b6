import { headingOf } from './heading.ts';
import type { Skill } from '../skill.ts';

/** A topic with the ids of its skills, sorted as the skills are. */
export type Topic = readonly [name: string, ids: readonly string[]];

export interface Topics {
  /** The largest first. */
  readonly topics: readonly Topic[];
  /** Ids of the skills that are in no topic. */
  readonly other: readonly string[];
}

/** What skills of no topic are called. */
export const OTHER = 'other';
/** A topic of fewer skills says no more than their names would. */
const FEWEST = 3;

/**
 * What skills are about: each counts once, under its first tag, else under that of its other tags and of the words of its id
 * that most of them share. A source is not a topic: it says where skills come from and not what they are for.
 */
export function topicsOf(skills: readonly Skill[]): Topics {
  const named = new Map<string, string>(); // few tags among many skills: each is cleaned once
  const [shared, first] = [new Map<string, number>(), new Map<string, number>()];
  const words = skills.map((skill) => {
    const found = wordsOf(skill, named);
    for (const word of found) shared.set(word, (shared.get(word) ?? 0) + 1);
    if (skill.tags.length > 0 && found.length > 0) first.set(found[0]!, (first.get(found[0]!) ?? 0) + 1);
    return found;
  });
  const groups = new Map<string, string[]>();
  const other: string[] = [];
  skills.forEach(({ id }, at) => {
    const found = words[at]!;
    const topic = found.length > 0 && (first.get(found[0]!) ?? 0) >= FEWEST ? found[0] : mostShared(found, shared);
    const ids = topic === undefined ? other : groups.get(topic);
    if (ids === undefined) groups.set(topic!, [id]);
    else ids.push(id);
  });
  const large = [...groups].filter(([, ids]) => ids.length >= FEWEST);
  large.sort(([a, one], [b, two]) => two.length - one.length || (a < b ? -1 : 1));
  const small = [...groups.values()].filter((ids) => ids.length < FEWEST).flat();
  return { topics: large, other: [...other, ...small].sort((a, b) => (a < b ? -1 : 1)) };
}

function mostShared(words: readonly string[], shared: ReadonlyMap<string, number>): string | undefined {
  let best: string | undefined;
  let most = FEWEST - 1;
  for (const word of words) {
    const count = shared.get(word)!;
    if (count > most) [best, most] = [word, count];
  }
  return best;
}

/** Tags and the words of an id, each once, in small letters. */
function wordsOf({ id, tags }: Skill, named: Map<string, string>): readonly string[] {
  const found: string[] = [];
  for (const tag of tags) {
    let name = named.get(tag);
    if (name === undefined) named.set(tag, (name = headingOf(tag).toLowerCase()));
    if (name !== '' && name !== OTHER && !found.includes(name)) found.push(name);
  }
  for (const word of id.toLowerCase().split(NO_WORD)) if (word.length > 1 && !GENERAL.has(word) && !found.includes(word)) found.push(word);
  return found;
}

const NO_WORD = /[^\p{L}\p{M}]+/u;

/** Words of ids that say what kind of thing a skill is, and nothing of its subject. */
const GENERAL: ReadonlySet<string> = new Set(
  (
    'skill skills agent agents tool tools helper helpers guide guides guidelines basics basic pro expert experts engineer developer specialist ' +
    'senior junior manager builder creator generator writer maker assistant architect analyst master best practices practice patterns pattern ' +
    'advanced techniques technique templates template setup the and for with from into of to in on by an my your new use using how'
  ).split(' '),
);
