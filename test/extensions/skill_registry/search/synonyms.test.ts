import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { synonymsOf } from '../../../../sandbox/extensions/skill_registry/search/synonyms.ts';
import { eachTerm } from '../../../../sandbox/extensions/skill_registry/search/tokens.ts';

const FILE = new URL('../../../../sandbox/extensions/skill_registry/search/synonyms.ts', import.meta.url);

it('R2 every term of a group means the others of it, although only groups that begin like an asked term are read', () => {
  const [, table = ''] = /const GROUPS = `([^`]+)`/.exec(readFileSync(FILE, 'utf8')) ?? [];
  const expected = new Map<string, Set<string>>();
  for (const group of table.split(/[\n;]/)) {
    const terms: string[] = [];
    eachTerm(group, (term) => terms.push(term));
    for (const term of terms) expected.set(term, new Set([...(expected.get(term) ?? []), ...terms.filter((other) => other !== term)]));
  }
  expect(expected.size).toBeGreaterThan(600);
  for (const [term, others] of expected) expect([term, ...synonymsOf(term)]).toEqual([term, ...others]);
  expect(synonymsOf('databasewhatever')).toEqual([]);
  expect(synonymsOf('')).toEqual([]);
});
