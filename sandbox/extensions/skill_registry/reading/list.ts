import { toolResult, type ToolResult } from 'pith';
import { catalogLine, WHOLE_LINE } from '@pith/skill-files';
import type { SkillScope } from '../catalog/scope.ts';
import type { Skill } from '../skill.ts';
import type { SearchAnswer } from '../search/skill-search.ts';

export interface ListInput {
  readonly query: string;
  readonly limit: number;
  readonly offset: number;
}

/** A search answers with at most so many; what is further down is noise. */
export const MOST_FOUND = 100;

/** The page of skills for a query, best first; without one, all by id. */
export function listResult(scope: SkillScope, input: ListInput, found: SearchAnswer | null): ToolResult {
  const query = input.query.trim();
  const total = found === null ? scope.readable.size : found.ranked.length;
  const most = found !== null && total === MOST_FOUND ? 'the best ' : '';
  const shown =
    found === null
      ? page(byId(scope), input).map((skill) => ({ skill, why: [], weak: false }))
      : page(found.ranked, input).map(({ id, why, weak = false }) => ({ skill: scope.readable.get(id)!, why, weak }));
  const lines = [
    headline(query, { total, most, shown: shown.length, offset: input.offset, all: scope.readable.size }),
    ...shown.map(({ skill, ...match }) => `${catalogLine(skill, WHOLE_LINE)}${matchOf(match)}`),
    ...(found === null || found.note === null ? [] : [`(${found.note})`]),
    ...(shown.length === 0 ? [] : [nextLine(input, total, shown.length)]),
  ];
  return toolResult(lines.join('\n'), {
    title: `${shown.length} of ${most}${total} skills listed`,
    metadata: { count: shown.length, total, query, ...(most === '' ? {} : { more: true }) },
  });
}

function matchOf({ why, weak }: { readonly why: readonly string[]; readonly weak: boolean }): string {
  const said = [...(weak ? ['weak match'] : []), ...(why.length === 0 ? [] : [`matches: ${why.join(', ')}`])];
  return said.length === 0 ? '' : ` [${said.join('; ')}]`;
}

function byId({ readable }: SkillScope): readonly Skill[] {
  return [...readable.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

function page<T>(items: readonly T[], { limit, offset }: ListInput): readonly T[] {
  return items.slice(offset, offset + limit);
}

interface Counts {
  readonly total: number;
  readonly most: string;
  readonly shown: number;
  readonly offset: number;
  readonly all: number;
}

function headline(query: string, { total, most, shown, offset, all }: Counts): string {
  if (all === 0) return 'There are no skills.';
  if (total === 0) return `No skill matches "${query}" well. list_skills() without a query lists all ${all} by id.`;
  if (shown === 0) return most === '' ? `No more: there are ${total}.` : `No more: these were the best ${total}. Ask in other words.`;
  const range = `${offset + 1}–${offset + shown} of ${most}${total}`;
  return query === '' ? `Skills ${range}, by id:` : `Skills for "${query}", ${range}, best first:`;
}

function nextLine({ offset }: ListInput, total: number, shown: number): string {
  const use = 'Use read_skill(skill_id) to load full instructions.';
  return offset + shown < total ? `${use} More: the same call with offset=${offset + shown}.` : use;
}
