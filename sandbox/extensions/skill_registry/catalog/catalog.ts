import { catalogLine } from '@pith/skill-files';
import type { Skill } from '../skill.ts';
import { nameLines, topicLines } from './rest-lines.ts';
import { costOf, richestLines, sumOf } from './richest-lines.ts';
import { topicsOf } from './topics.ts';

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
  const names = nameLines(
    skills.filter((skill) => !pinned.has(skill)),
    room,
  );
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

/** 1 % of the model's window within 600 and 2,000; 2,000 where the window is unknown. */
export function catalogBudget(contextWindow: number | null): number {
  return contextWindow === null ? 2000 : Math.min(2000, Math.max(600, Math.floor(contextWindow / 100)));
}
