import { catalogLine, clean, estimateTokens } from '@pith/skill-files';
import type { Skill } from '../skill.ts';
import { headingOf } from './heading.ts';
import { costOf, richestLines } from './richest-lines.ts';
import { type Topic, type Topics, topicsOf } from './topics.ts';

export interface CatalogOptions {
  /** Tokens that the text may have at most. */
  readonly budget: number;
  /** Ids that keep their line when not all fit. */
  readonly pinned?: readonly string[];
}

export interface Catalog {
  /** null when there is nothing to offer. */
  readonly text: string | null;
  /** Whether every skill has its line. */
  readonly complete: boolean;
  /** Those that have their line. */
  readonly lines: readonly Skill[];
  /** Characters that each line may have of what its skill is for; null where there are no lines. */
  readonly limit: number | null;
  /** Estimated, rather too many. */
  readonly tokens: number;
  /** Whether the skills without a line are all named, or counted by topic where there is no room for their names; null where there are none. */
  readonly rest: 'names' | 'groups' | null;
}

const HEAD = '[Available Skills]';
const USE = 'Use read_skill(skill_id) to load full instructions.';

/** The catalog of `skills`, sorted by id: a function of its arguments, never above the budget, as rich as it allows, dropping nothing silently. */
export function renderCatalog(skills: readonly Skill[], { budget, pinned = [] }: CatalogOptions): Catalog {
  if (skills.length === 0) return { text: null, complete: true, lines: [], limit: null, tokens: 0, rest: null };
  const frame = sumOf([HEAD, USE]);
  const all = richestLines(skills, budget - frame);
  if (all === null) return overflow(skills, budget, pinned);
  const { lines, limit, tokens } = all;
  return { text: [HEAD, ...lines, USE].join('\n'), complete: true, lines: skills, limit, tokens: frame + tokens, rest: null };
}

function overflow(skills: readonly Skill[], budget: number, pinned: readonly string[]): Catalog {
  const byId = new Map(skills.map((skill) => [skill.id, skill]));
  const wanted = [...new Set(pinned)].flatMap((id) => byId.get(id) ?? []);
  const frame = sumOf([HEAD, USE, moreLine(skills.length)]);
  const parts = withNames(skills, wanted, budget - frame) ?? withTopics(skills, wanted, budget - frame, budget);
  const shown = new Set(parts.shown);
  const end = [USE, moreLine(skills.length - shown.size)];
  return {
    text: [HEAD, ...parts.lines, ...end].join('\n'),
    complete: false,
    lines: skills.filter((skill) => shown.has(skill)),
    limit: parts.limit,
    tokens: frame + parts.tokens,
    rest: parts.rest,
  };
}

function moreLine(count: number): string {
  return `${count} more: search with list_skills(query)`;
}

interface Parts {
  readonly lines: readonly string[];
  /** Those of the pinned skills that have a line among `lines`. */
  readonly shown: readonly Skill[];
  readonly limit: number | null;
  readonly tokens: number;
  readonly rest: 'names' | 'groups';
}

/** All pinned skills with a line, in the room that the names of all others leave; null where they leave none. */
function withNames(skills: readonly Skill[], wanted: readonly Skill[], room: number): Parts | null {
  if (skills.length > room) return null;
  const pinned = new Set(wanted);
  const names = linesWithin(nameLines(skills.filter((skill) => !pinned.has(skill))), room);
  if (names === null) return null;
  const used = sumOf(names);
  const found = richestLines(sorted(wanted), room - used);
  if (found === null) return null;
  const limit = wanted.length === 0 ? null : found.limit;
  return { lines: [...found.lines, ...names], shown: wanted, limit, tokens: found.tokens + used, rest: 'names' };
}

/** What pinned skills leave to the others. Counts of topics leave a quarter of the budget: more of them help nobody. */
const REST = 150;
/** Pinned skills beside counts have no longer lines, so that there is room for the counts. */
const BESIDE_COUNTS = 160;

function withTopics(skills: readonly Skill[], wanted: readonly Skill[], room: number, budget: number): Parts {
  const quarter = Math.floor(budget / 4);
  const { lines, limit, shown, tokens } = pinnedLines(wanted, Math.max(0, room - Math.min(REST, quarter)));
  const left = room - tokens;
  const pinned = new Set(wanted);
  const rest = topicsOf(skills.filter((skill) => !pinned.has(skill)));
  const counted = topicLines(rest, wanted.length - shown.length, { counts: Math.max(Math.min(left, REST), left - quarter), all: left });
  return { lines: [...lines, ...counted], shown, limit, tokens: tokens + sumOf(counted), rest: 'groups' };
}

/** Many of them get shorter lines, all alike. Where not even their ids fit, those that were pinned first have their line. */
function pinnedLines(wanted: readonly Skill[], room: number): Omit<Parts, 'rest'> {
  const found = richestLines(sorted(wanted), room, BESIDE_COUNTS);
  if (found !== null) return { ...found, shown: wanted, limit: wanted.length === 0 ? null : found.limit };
  const shown: Skill[] = [];
  let left = room;
  for (const skill of wanted) {
    const cost = costOf(catalogLine(skill, 0));
    if (cost > left) break;
    left -= cost;
    shown.push(skill);
  }
  return { lines: sorted(shown).map((skill) => catalogLine(skill, 0)), shown, limit: shown.length === 0 ? null : 0, tokens: room - left };
}

function sorted(skills: readonly Skill[]): readonly Skill[] {
  return [...skills].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Ids by first tag, else by source; groups and ids sorted. */
function* nameLines(skills: readonly Skill[]): Iterable<string> {
  const groups = new Map<string, string[]>();
  for (const { id, tags, source } of skills) {
    const name = headingOf(tags[0] ?? source) || headingOf(source);
    const ids = groups.get(name);
    if (ids === undefined) groups.set(name, [id]);
    else ids.push(id);
  }
  for (const [name, ids] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1))) yield* idLines(name, ids);
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

interface TopicRoom {
  /** Tokens for the line of counts. */
  readonly counts: number;
  /** Tokens for all. */
  readonly all: number;
}

/**
 * The topics with their counts. Where all of them fit, what room is left has names: of the skills in no topic, of which no count
 * says anything, then of the smallest topics. So what a skill shares with others decides, and not where its id stands in the alphabet.
 */
function topicLines({ topics, other }: Topics, pinnedToo: number, room: TopicRoom): readonly string[] {
  const fitting = countedIn(topics, other.length, room.counts);
  const countLine = (counted: readonly Topic[], others: number): readonly string[] => {
    const parts = [
      ...(pinnedToo === 0 ? [] : [`also pinned (${pinnedToo})`]),
      ...counted.map(([name, ids]) => `${name} (${ids.length})`),
      ...(others === 0 ? [] : [`other (${others})`]),
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
  const others = other.length === 0 ? [] : named('other', other);
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

function sumOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + costOf(line), 0);
}

/** 1 % of the model's window within 600 and 2,000; 2,000 where the window is unknown. */
export function catalogBudget(contextWindow: number | null): number {
  return contextWindow === null ? 2000 : Math.min(2000, Math.max(600, Math.floor(contextWindow / 100)));
}
