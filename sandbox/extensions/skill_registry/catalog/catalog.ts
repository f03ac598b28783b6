import type { Skill } from '../skill.ts';
import { catalogLine, clean, estimateTokens } from '@pith/skill-files';

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
  /** Estimated, rather too many. */
  readonly tokens: number;
  /** How the skills without a line are named: all by id, or counted by group; null where there are none. */
  readonly rest: 'names' | 'groups' | null;
}

const HEAD = '[Available Skills]';
const USE = 'Use read_skill(skill_id) to load full instructions.';

/** The catalog of `skills`, sorted by id: a function of its arguments, never above the budget, dropping nothing silently. */
export function renderCatalog(skills: readonly Skill[], { budget, pinned = [] }: CatalogOptions): Catalog {
  if (skills.length === 0) return { text: null, complete: true, lines: [], tokens: 0, rest: null };
  const lines = new BudgetedLines(budget, [HEAD, USE]);
  if (skills.every((skill) => lines.add(catalogLine(skill))))
    return { text: lines.text([USE]), complete: true, lines: skills, tokens: budget - lines.left, rest: null };
  return overflow(skills, budget, pinned);
}

function overflow(skills: readonly Skill[], budget: number, pinned: readonly string[]): Catalog {
  const lines = new BudgetedLines(budget, [HEAD, USE, moreLine(skills.length)]);
  const byId = new Map(skills.map((skill) => [skill.id, skill]));
  const wanted = [...new Set(pinned)].flatMap((id) => byId.get(id) ?? []);
  const shown = addPinned(lines, wanted, Math.max(0, lines.left - Math.min(REST, Math.floor(budget / 4))));
  const rest = skills.filter((skill) => !shown.has(skill));
  const groups = groupsOf(rest, new Set(wanted));
  const named = lines.addAll(nameLines(groups));
  if (!named) lines.addAll([countLine(groups, Math.max(Math.min(lines.left, REST), lines.left - Math.floor(budget / 4)))]);
  const text = lines.text([USE, moreLine(rest.length)]);
  return {
    text,
    complete: false,
    lines: skills.filter((skill) => shown.has(skill)),
    tokens: budget - lines.left,
    rest: named ? 'names' : 'groups',
  };
}

function moreLine(count: number): string {
  return `${count} more — search with list_skills(query)`;
}

/** What pinned skills leave to the others. Counts of groups leave a quarter of the budget: more of them help nobody. */
const REST = 150;
const ALSO_PINNED = 'also pinned';

/** Many of them get shorter lines, all alike. Where not even their ids fit, those that were pinned first have their line. */
function addPinned(lines: BudgetedLines, wanted: readonly Skill[], room: number): ReadonlySet<Skill> {
  const sorted = [...wanted].sort((a, b) => (a.id < b.id ? -1 : 1));
  const limits = [160, 120, 80, 50, 25, 0];
  const limit = limits.find((each) => sumOf(sorted.map((skill) => catalogLine(skill, each))) <= room) ?? 0;
  let left = room;
  const shown = new Set(wanted.filter((skill) => (left -= costOf(catalogLine(skill, limit))) >= 0));
  lines.addAll(sorted.filter((skill) => shown.has(skill)).map((skill) => catalogLine(skill, limit)));
  return shown;
}

/** Ids by first tag, else by source; groups and ids sorted, the pinned ones that have no line first. */
function groupsOf(skills: readonly Skill[], pinned: ReadonlySet<Skill>): readonly (readonly [string, readonly string[]])[] {
  const names = new Map<string, string>(); // few among many skills: each is cleaned once
  const groups = new Map<string, string[]>();
  const left = skills.filter((skill) => pinned.has(skill)).map(({ id }) => id);
  for (const skill of skills) {
    if (pinned.has(skill)) continue;
    const { id, tags, source } = skill;
    const given = tags[0] ?? source;
    let name = names.get(given);
    if (name === undefined) names.set(given, (name = headingOf(given)));
    name ||= headingOf(source);
    const ids = groups.get(name);
    if (ids === undefined) groups.set(name, [id]);
    else ids.push(id);
  }
  const sorted = [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
  return left.length === 0 ? sorted : [[ALSO_PINNED, left], ...sorted];
}

/** What begins a line is read as Pith's own words where it looks like them: `[System]`, a list, code, a heading. */
function headingOf(text: string): string {
  const plain = clean(text.replace(/[^\p{L}\p{M}\p{N}/@#&+._-]+/gu, ' '));
  return [...plain.replace(/^[^\p{L}\p{N}/]+/u, '')].slice(0, 40).join('').trim();
}

function* nameLines(groups: ReturnType<typeof groupsOf>): Iterable<string> {
  for (const [name, ids] of groups) {
    for (let from = 0; from < ids.length; from += 50)
      yield `${from === 0 ? `${name}: ` : ''}${ids
        .slice(from, from + 50)
        .map(clean)
        .join(', ')}`;
  }
}

/** The largest groups with their counts, as many as fit into `room`, and how many groups are left. */
function countLine(groups: ReturnType<typeof groupsOf>, room: number): string {
  const size = ([name, ids]: (typeof groups)[number]) => (name === ALSO_PINNED ? Infinity : ids.length);
  const bySize = [...groups].sort((a, b) => size(b) - size(a) || (a[0] < b[0] ? -1 : 1));
  const parts: string[] = [];
  let used = estimateTokens('Groups: , and 10000 more groups');
  for (const [name, ids] of bySize) {
    const part = `${name} (${ids.length})`;
    used += estimateTokens(`${part}, `);
    if (used > room) break;
    parts.push(part);
  }
  const left = groups.length - parts.length;
  if (parts.length === 0) return `${groups.length} groups`;
  return `Groups: ${parts.join(', ')}${left > 0 ? `, and ${left} more group${left === 1 ? '' : 's'}` : ''}`;
}

/** Lines that together stay within a budget of tokens, `frame` included. */
class BudgetedLines {
  readonly #lines: string[] = [HEAD];
  left: number;

  constructor(budget: number, frame: readonly string[]) {
    this.left = budget - sumOf(frame);
  }

  add(line: string): boolean {
    const cost = costOf(line);
    if (cost > this.left) return false;
    this.left -= cost;
    this.#lines.push(line);
    return true;
  }

  /** All of them or none. */
  addAll(lines: Iterable<string>): boolean {
    const before = { left: this.left, length: this.#lines.length };
    for (const line of lines) {
      if (this.add(line)) continue;
      this.left = before.left;
      this.#lines.length = before.length;
      return false;
    }
    return true;
  }

  text(end: readonly string[]): string {
    return [...this.#lines, ...end].join('\n');
  }
}

function sumOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + costOf(line), 0);
}

function costOf(line: string): number {
  return estimateTokens(line) + 1; // its newline
}

/** 1 % of the model's window within 600 and 2,000; 2,000 where the window is unknown. */
export function catalogBudget(contextWindow: number | null): number {
  return contextWindow === null ? 2000 : Math.min(2000, Math.max(600, Math.floor(contextWindow / 100)));
}
