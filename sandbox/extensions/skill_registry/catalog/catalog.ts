import type { Skill } from '../skill.ts';
import { catalogLine, clean } from './brief.ts';
import { estimateTokens } from './token-estimate.ts';

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
}

const HEAD = '[Available Skills]';
const USE = 'Use read_skill(skill_id) to load full instructions.';

/** The catalog of `skills`, sorted by id: a function of its arguments, never above the budget, dropping nothing silently. */
export function renderCatalog(skills: readonly Skill[], { budget, pinned = [] }: CatalogOptions): Catalog {
  if (skills.length === 0) return { text: null, complete: true, lines: [] };
  const page = new Page(budget, [HEAD, USE]);
  if (skills.every((skill) => page.add(catalogLine(skill)))) return { text: page.text([USE]), complete: true, lines: skills };
  return { ...overflow(skills, budget, new Set(pinned)), complete: false };
}

/** How the end of a catalog or list says that there is more. */
export function moreLine(count: number): string {
  return `${count} more — search with list_skills(query)`;
}

function overflow(skills: readonly Skill[], budget: number, pinned: ReadonlySet<string>): Pick<Catalog, 'text' | 'lines'> {
  const page = new Page(budget, [HEAD, USE, moreLine(skills.length)]);
  const shown = new Set(skills.filter((skill) => pinned.has(skill.id) && page.add(catalogLine(skill))));
  const rest = skills.filter((skill) => !shown.has(skill));
  const groups = groupsOf(rest);
  if (!page.addAll(nameLines(groups))) page.addAll([countLine(groups, page.left)]);
  return { text: page.text([USE, moreLine(rest.length)]), lines: [...shown] };
}

/** Ids by first tag, else by source; groups and ids sorted. */
function groupsOf(skills: readonly Skill[]): readonly (readonly [string, readonly string[]])[] {
  const names = new Map<string, string>(); // few among many skills: each is cleaned once
  const groups = new Map<string, string[]>();
  for (const { id, tags, source } of skills) {
    const given = tags[0] ?? source;
    let name = names.get(given);
    if (name === undefined) names.set(given, (name = [...clean(given)].slice(0, 40).join('')));
    name ||= clean(source);
    const ids = groups.get(name);
    if (ids === undefined) groups.set(name, [id]);
    else ids.push(id);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
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

/** The largest groups with their counts, as many as fit, and how many groups are left. */
function countLine(groups: ReturnType<typeof groupsOf>, room: number): string {
  const bySize = [...groups].sort(([a, x], [b, y]) => y.length - x.length || (a < b ? -1 : 1));
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

/** Lines that together stay within a budget, `frame` included. */
class Page {
  readonly #lines: string[] = [HEAD];
  left: number;

  constructor(budget: number, frame: readonly string[]) {
    this.left = budget - frame.reduce((sum, line) => sum + costOf(line), 0);
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

function costOf(line: string): number {
  return estimateTokens(line) + 1; // its newline
}
