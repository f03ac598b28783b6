import { describe, expect, it } from 'vitest';
import { VERBS, verdictOn, type Person, type Verb, type Verdict } from '../../../sandbox/extensions/saved_skills/domain/permissions.ts';
import type { SavedSkill } from '../../../sandbox/extensions/saved_skills/domain/saved-skill.ts';

const PEOPLE: Readonly<Record<string, Person>> = {
  owner: { userId: 'ada', isAdmin: false },
  admin: { userId: 'root', isAdmin: true },
  named: { userId: 'bob', isAdmin: false },
  stranger: { userId: 'eve', isAdmin: false },
};

/** What the specification says, written as a table: see · show · run without a pin · run with one · edit · pin · share · schedule · delete. */
const ORACLE: Readonly<Record<string, readonly Verdict[]>> = {
  owner: ['yes', 'yes', 'yes', 'yes', 'yes', 'not_allowed', 'yes', 'yes', 'yes'],
  admin: ['yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes'],
  visitor: ['yes', 'yes', 'not_pinned', 'yes', 'not_allowed', 'not_allowed', 'not_allowed', 'not_allowed', 'not_allowed'],
  nobody: Array.from({ length: 9 }, () => 'not_found' as const),
};

function wanted(role: string, visibility: string, isPinned: boolean, verb: Verb): Verdict | undefined {
  const sees = visibility === 'public' || (visibility === 'shared' && role === 'named');
  const row = ORACLE[role] ?? ORACLE[sees ? 'visitor' : 'nobody'];
  const place = { see: 0, show: 1, run: isPinned ? 3 : 2, edit: 4, pin: 5, share: 6, schedule: 7, delete: 8 }[verb];
  return row?.[place];
}

const CELLS = ['private', 'shared', 'public'].flatMap((visibility) =>
  Object.keys(PEOPLE).flatMap((role) =>
    [false, true].flatMap((isPinned) => VERBS.map((verb) => ({ visibility, role, isPinned, verb }) as const)),
  ),
);

describe('M9 M11 M23 who may do what', () => {
  it('has 192 cells', () => expect(CELLS).toHaveLength(192));

  it.each(CELLS)('M23 $visibility, $role, pinned $isPinned: $verb', ({ visibility, role, isPinned, verb }) => {
    const skill = {
      owner_id: 'ada',
      source: 'manual' as const,
      visibility: visibility as SavedSkill['visibility'],
      shared_with: ['bob'],
      pinned_version_id: isPinned ? 'v' : null,
    } satisfies Partial<SavedSkill>;
    expect(verdictOn(verb, skill, PEOPLE[role] as Person)).toBe(wanted(role, visibility, isPinned, verb));
  });

  it('M9 a builtin without a pin runs for whom its visibility admits', () => {
    const builtin = {
      owner_id: null,
      source: 'builtin',
      visibility: 'public',
      shared_with: [] as string[],
      pinned_version_id: null,
    } as const;
    expect(verdictOn('run', builtin, PEOPLE['stranger'] as Person)).toBe('yes');
    expect(verdictOn('run', { ...builtin, visibility: 'private' }, PEOPLE['stranger'] as Person)).toBe('not_found');
    expect(verdictOn('edit', builtin, PEOPLE['stranger'] as Person)).toBe('not_allowed');
  });
});
