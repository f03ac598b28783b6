import type { SavedSkill } from './saved-skill.ts';

export const VERBS = ['see', 'show', 'run', 'edit', 'pin', 'share', 'schedule', 'delete'] as const;
export type Verb = (typeof VERBS)[number];

/** Somebody who asks for something. */
export interface Person {
  readonly userId: string;
  readonly isAdmin: boolean;
}

/** `yes`, or why not. `not_found` hides a skill from those who may not see it. */
export type Verdict = 'yes' | 'not_found' | 'not_allowed' | 'not_pinned';

type Guarded = Pick<SavedSkill, 'owner_id' | 'source' | 'visibility' | 'shared_with' | 'pinned_version_id'>;

export function isOwner({ owner_id }: Pick<SavedSkill, 'owner_id'>, { userId }: Pick<Person, 'userId'>): boolean {
  return owner_id !== null && owner_id === userId;
}

/** `shared_with` counts while the skill is shared, and at no other time. */
export function maySee(skill: Guarded, person: Person): boolean {
  if (person.isAdmin || isOwner(skill, person) || skill.visibility === 'public') return true;
  return skill.visibility === 'shared' && skill.shared_with.includes(person.userId);
}

/** Whether a person may do something with a skill. */
export function verdictOn(verb: Verb, skill: Guarded, person: Person): Verdict {
  if (!maySee(skill, person)) return 'not_found';
  const governs = person.isAdmin || isOwner(skill, person);
  switch (verb) {
    case 'see':
    case 'show':
      return 'yes';
    case 'run':
      return governs || skill.pinned_version_id !== null || skill.source === 'builtin' ? 'yes' : 'not_pinned';
    case 'pin':
      return person.isAdmin ? 'yes' : 'not_allowed';
    case 'edit':
    case 'share':
    case 'schedule':
    case 'delete':
      return governs ? 'yes' : 'not_allowed';
  }
}

/** Which text a run of this person executes: the owner's is the draft, everybody else's the pinned one where there is one. */
export function runsPinned(skill: Guarded, person: Person, wantsDraft: boolean): boolean {
  if (skill.pinned_version_id === null || isOwner(skill, person)) return false;
  return !(person.isAdmin && wantsDraft);
}
