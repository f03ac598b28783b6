import type { SavedSkill } from './saved-skill.ts';
import { secondsIn } from './saved-skill.ts';

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

/** What is above the limits of whoever saves it, as texts for people; empty when nothing is. */
export function limitProblems(skill: Limited, byAdmin: boolean, settings: BoundsSettings): readonly string[] {
  const asked = wanted(skill);
  const most = tier(skill, byAdmin, settings);
  return KEYS.flatMap((key) => (asked[key] > most[key] ? [`${nameOf(key)} ${asked[key]} is more than ${most[key]}`] : []));
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

function nameOf(key: keyof Bounds): string {
  return key === 'max_runtime_seconds' ? 'max_runtime (seconds)' : key;
}
