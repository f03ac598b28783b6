import { clean, lineOf } from '@pith/skill-files';
import type { Skill } from '../skill.ts';
import { fitting, type Fitting, largest, richestLines, sumOf } from './fitting.ts';
import { nameLines } from './name-lines.ts';
import { topicLines } from './topics.ts';

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
  /** How the skills without a line are told of: all are named, or counted by topic where there is no room for their names; null where there are none. */
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
  const parts = withNames(skills, wanted, budget - frame) ?? withTopics(skills, wanted, budget - frame);
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

interface Parts extends Pinned {
  readonly rest: 'names' | 'groups';
}

/** All pinned skills with a line, in the room that the names of all others leave; null where they leave none. */
function withNames(skills: readonly Skill[], wanted: readonly Skill[], room: number): Parts | null {
  if (skills.length > room) return null;
  const pinned = new Set(wanted);
  const others = skills.filter((skill) => !pinned.has(skill));
  const names = nameLines(others, room);
  const found = names === null ? null : richestLines(sorted(wanted), room - names.tokens);
  if (found === null) return null;
  const { lines, tokens } = names!.within(room - found.tokens);
  const limit = wanted.length === 0 ? null : found.limit;
  return { lines: [...found.lines, ...lines], shown: wanted, limit, tokens: found.tokens + tokens, rest: 'names' };
}

/** What pinned skills leave to the topics of the others, or a quarter of the room where that is less. */
const REST = 150;
/** Pinned skills beside topics have no longer lines, so that there is room for the topics. */
const BESIDE_TOPICS = 160;

function withTopics(skills: readonly Skill[], wanted: readonly Skill[], room: number): Parts {
  const found = pinnedLines(wanted, Math.max(0, room - Math.min(REST, Math.floor(room / 4))));
  const pinned = new Set(wanted);
  const shown = new Set(found.shown);
  const others = skills.filter((skill) => !pinned.has(skill));
  const unshown = skills.filter((skill) => pinned.has(skill) && !shown.has(skill));
  const { lines, tokens } = topicLines(others, unshown, room - found.tokens);
  return { ...found, lines: [...found.lines, ...lines], tokens: found.tokens + tokens, rest: 'groups' };
}

interface Pinned extends Fitting {
  /** Those of the pinned skills that have a line among `lines`. */
  readonly shown: readonly Skill[];
  readonly limit: number | null;
}

/** Many of them get shorter lines, all alike. Where not even the shortest fit, those that were pinned first have their id. */
function pinnedLines(wanted: readonly Skill[], room: number): Pinned {
  if (wanted.length === 0) return { lines: [], tokens: 0, shown: [], limit: null };
  const found = richestLines(sorted(wanted), room, BESIDE_TOPICS);
  if (found !== null) return { ...found, shown: wanted };
  const first = largest(0, Math.min(wanted.length, room), (count) => {
    const shown = wanted.slice(0, count);
    const lines = fitting(sorted(shown), room, ({ id }) => lineOf(clean(id), ''));
    return lines === null ? null : { ...lines, shown };
  });
  return { lines: [], tokens: 0, shown: [], ...first, limit: 0 };
}

function sorted(skills: readonly Skill[]): readonly Skill[] {
  return [...skills].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** 1 % of the model's window within 600 and 2,000; 2,000 where the window is unknown. */
export function catalogBudget(contextWindow: number | null): number {
  return contextWindow === null ? 2000 : Math.min(2000, Math.max(600, Math.floor(contextWindow / 100)));
}
