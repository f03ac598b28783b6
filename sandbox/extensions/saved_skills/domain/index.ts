/** What a saved skill is and what holds for it. Pure: no store, no clock, no kernel. */
export { emojiOf, type RunState } from './saved-skill.ts';
export {
  coerce,
  inputJsonSchema,
  inputSchemaProblems,
  positionalInputs,
  readInputs,
  usageOf,
  type GivenInputs,
  type InputField,
  type Inputs,
} from './inputs.ts';
export { boundsOf, limitProblems, type Bounds, type BoundsSettings } from './limits.ts';
export { isOwner, maySee, runsPinned, verdictOn, VERBS, type Person, type Verb, type Verdict } from './permissions.ts';
export {
  GOVERNANCE_FIELDS,
  NAME,
  PINNED_FIELDS,
  referenceOf,
  savedSkillSchema,
  secondsIn,
  skillFileSchema,
  VISIBILITIES,
  type Field,
  type SavedSkill,
  type SkillFile,
} from './saved-skill.ts';
export { nextTime } from './schedule.ts';
export { cleanTags } from './saved-skill.ts';
