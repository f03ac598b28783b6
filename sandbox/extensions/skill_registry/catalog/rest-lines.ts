import { clean, estimateTokens } from '@pith/skill-files';
import type { Skill } from '../skill.ts';
import { headingOf } from './heading.ts';
import { costOf, sumOf } from './richest-lines.ts';
import { OTHER, type Topic, type Topics } from './topics.ts';

/** Ids by first tag, else by source; groups and ids sorted. null where they have no room. */
export function nameLines(skills: readonly Skill[], room: number): readonly string[] | null {
  const groups = new Map<string, string[]>();
  const headings = new Map<string, string>(); // many skills share few tags and sources
  const heading = (text: string): string => {
    const known = headings.get(text) ?? headingOf(text);
    headings.set(text, known);
    return known;
  };
  for (const { id, tags, source } of skills) {
    const name = heading(tags[0] ?? source) || heading(source);
    const ids = groups.get(name);
    if (ids === undefined) groups.set(name, [id]);
    else ids.push(id);
  }
  const sorted = [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
  return linesWithin(allLines(sorted), room);
}

function* allLines(groups: readonly (readonly [string, readonly string[]])[]): Iterable<string> {
  for (const [name, ids] of groups) yield* idLines(name, ids);
}

function* idLines(name: string, ids: readonly string[]): Iterable<string> {
  for (let from = 0; from < ids.length; from += 50)
    yield `${from === 0 ? `${name}: ` : ''}${ids
      .slice(from, from + 50)
      .map(clean)
      .join(', ')}`;
}

/** A topic of more skills is only counted: its name is a good query. */
const SMALL = 12;

export interface TopicRoom {
  /** Tokens for the line of counts. */
  readonly counts: number;
  /** Tokens for all. */
  readonly all: number;
}

/**
 * The topics with their counts. Where all of them fit, what room is left has names: of the skills in no topic, of which no count
 * says anything, then of the smallest topics. So what a skill shares with others decides, and not where its id is in the alphabet.
 */
export function topicLines({ topics, other }: Topics, pinnedToo: number, room: TopicRoom): readonly string[] {
  const fitting = countedIn(topics, other.length, room.counts);
  const countLine = (counted: readonly Topic[], others: number): readonly string[] => {
    const parts = [
      ...(pinnedToo === 0 ? [] : [`also pinned (${pinnedToo})`]),
      ...counted.map(([name, ids]) => `${name} (${ids.length})`),
      ...(others === 0 ? [] : [`${OTHER} (${others})`]),
    ];
    return counted.length === 0 && pinnedToo === 0 ? [] : [`Groups: ${parts.join(', ')}`];
  };
  const left = topics.slice(fitting).reduce((sum, [, ids]) => sum + ids.length, other.length);
  const counts = countLine(topics.slice(0, fitting), left);
  if (sumOf(counts) > room.all) return [];
  if (fitting < topics.length) return counts;
  let free = room.all - sumOf(counts);
  const named = (name: string, ids: readonly string[]) => {
    const lines = ids.length > free ? null : linesWithin(idLines(name, ids), free);
    free -= lines === null ? 0 : sumOf(lines);
    return lines;
  };
  const others = other.length === 0 ? [] : named(OTHER, other);
  const expanded: (readonly string[])[] = [];
  for (const [name, ids] of topics.toReversed()) {
    const lines = ids.length > SMALL ? null : named(name, ids);
    if (lines === null) break;
    expanded.unshift(lines);
  }
  const counted = countLine(topics.slice(0, topics.length - expanded.length), others === null ? other.length : 0);
  return [...counted, ...expanded.flat(), ...(others ?? [])];
}

/** How many of the topics, the largest first, fit with their counts into `room`. */
function countedIn(topics: readonly Topic[], other: number, room: number): number {
  let used = estimateTokens(`Groups: also pinned (10000), other (${other + 10_000})`);
  const beyond = topics.findIndex(([name, ids]) => (used += estimateTokens(`${name} (${ids.length}), `)) > room);
  return beyond === -1 ? topics.length : beyond;
}

/** null where they have no room. */
function linesWithin(lines: Iterable<string>, room: number): readonly string[] | null {
  const found: string[] = [];
  let left = room;
  for (const line of lines) {
    left -= costOf(line);
    if (left < 0) return null;
    found.push(line);
  }
  return found;
}
