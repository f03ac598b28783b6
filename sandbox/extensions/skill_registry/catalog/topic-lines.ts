import { clean, estimateTokens } from '@pith/skill-files';
import type { Skill } from '../skill.ts';
import { fitting, type Fitting, largest } from './fitting.ts';
import { OTHER, type Topic, topicsOf } from './topics.ts';

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
  const cost = (CHEAPEST * estimateTokens(ids.join(', '))) / Math.max(1, ids.length);
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
