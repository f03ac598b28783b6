import { toolResult, type ToolResult } from 'pith';
import { catalogLine, WHOLE_LINE } from '@pith/skill-files';
import type { SkillScope } from '../catalog/scope.ts';
import type { RankedSkill } from '../contract.ts';
import type { SearchAnswer } from '../search/skill-search.ts';

export interface ListInput {
  readonly query: string;
  readonly limit: number;
  readonly offset: number;
}

/** A search answers with at most so many; what is further down is noise. */
export const MOST_FOUND = 100;

/** The page of skills for a query, best first; without one, all by id. */
export function listResult({ readable }: SkillScope, input: ListInput, found: SearchAnswer | null): ToolResult {
  const { limit, offset } = input;
  const query = input.query.trim();
  const all: readonly Pick<RankedSkill, 'id' | 'why' | 'weak'>[] =
    found?.ranked ?? [...readable.keys()].sort().map((id) => ({ id, why: [] }));
  const total = all.length;
  const most = found !== null && total === MOST_FOUND ? 'the best ' : '';
  const shown = all.slice(offset, offset + limit);
  const headline = (): string => {
    if (readable.size === 0) return 'There are no skills.';
    if (total === 0) return `No skill matches "${query}" well. list_skills() without a query lists all ${readable.size} by id.`;
    if (shown.length === 0)
      return most === '' ? `No more: there are ${total}.` : `No more: these were the best ${total}. Ask in other words.`;
    const range = `${offset + 1}–${offset + shown.length} of ${most}${total}`;
    return query === '' ? `Skills ${range}, by id:` : `Skills for "${query}", ${range}, best first:`;
  };
  const lines = [
    headline(),
    ...shown.map((one) => `${catalogLine(readable.get(one.id)!, WHOLE_LINE)}${matchOf(one)}`),
    ...(found === null || found.note === null ? [] : [`(${found.note})`]),
    ...(shown.length === 0 ? [] : [nextLine(input, total, shown.length)]),
  ];
  return toolResult(lines.join('\n'), {
    title: `${shown.length} of ${most}${total} skills listed`,
    metadata: { count: shown.length, total, query, ...(most === '' ? {} : { more: true }) },
  });
}

function matchOf({ why, weak = false }: Pick<RankedSkill, 'why' | 'weak'>): string {
  const said = [...(weak ? ['weak match'] : []), ...(why.length === 0 ? [] : [`matches: ${why.join(', ')}`])];
  return said.length === 0 ? '' : ` [${said.join('; ')}]`;
}

function nextLine({ offset }: ListInput, total: number, shown: number): string {
  const use = 'Use read_skill(skill_id) to load full instructions.';
  return offset + shown < total ? `${use} More: the same call with offset=${offset + shown}.` : use;
}
