import type { WrongField } from './inputs.ts';
import { type SavedSkill, secondsIn } from './saved-skill.ts';

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

/** How far a run may go. */
export interface Bounds {
  readonly max_iterations: number;
  readonly max_tool_calls: number;
  readonly max_runtime_seconds: number;
}

/** By the settings: what 0 stands for and plain authors may have, what an administrator may grant, and what nobody exceeds. */
export interface BoundsSettings {
  readonly defaults: Bounds;
  readonly extended: Bounds;
  readonly ceiling: Bounds;
}

type Limited = Pick<SavedSkill, 'max_iterations' | 'max_tool_calls' | 'max_runtime' | 'extended_bounds' | 'source'>;

const KEYS = ['max_iterations', 'max_tool_calls', 'max_runtime_seconds'] as const;

function wanted({ max_iterations, max_tool_calls, max_runtime }: Limited): Bounds {
  return { max_iterations, max_tool_calls, max_runtime_seconds: secondsIn(max_runtime) };
}

/** What this skill may have at most. `byAdmin`: an administrator saved it. */
function tier({ source, extended_bounds }: Limited, byAdmin: boolean, { defaults, extended, ceiling }: BoundsSettings): Bounds {
  if (source === 'builtin' || byAdmin) return ceiling;
  return extended_bounds ? extended : defaults;
}

/** What is above the limits of whoever saves it; empty when nothing is. */
export function limitProblems(skill: Limited, byAdmin: boolean, settings: BoundsSettings): readonly WrongField[] {
  const asked = wanted(skill);
  const most = tier(skill, byAdmin, settings);
  return KEYS.flatMap((key) => {
    if (asked[key] <= most[key]) return [];
    const [field, name] = key === 'max_runtime_seconds' ? ['max_runtime', 'max_runtime (seconds)'] : [key, key];
    return [{ path: [field], message: `${name} ${asked[key]} is more than ${most[key]}` }];
  });
}

/** What a run gets: 0 is the default, and nothing is above what its skill may have now. */
export function boundsOf(skill: Limited, byAdmin: boolean, settings: BoundsSettings): Bounds {
  const asked = wanted(skill);
  const most = tier(skill, byAdmin, settings);
  const bound = (key: keyof Bounds) => Math.min(asked[key] === 0 ? settings.defaults[key] : asked[key], most[key], settings.ceiling[key]);
  return {
    max_iterations: bound('max_iterations'),
    max_tool_calls: bound('max_tool_calls'),
    max_runtime_seconds: bound('max_runtime_seconds'),
  };
}
