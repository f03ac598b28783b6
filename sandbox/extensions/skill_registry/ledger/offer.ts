import type { SkillScope } from '../catalog/scope.ts';
import type { Skill, Snapshot } from '../skill.ts';

/** What a turn's model was told of the skills. */
export interface Offer {
  readonly snapshot: Snapshot;
  readonly scope: SkillScope;
  /** Those of the scope's catalog that it was told of; `all` of them mostly. */
  readonly told: 'all' | readonly Skill[];
  /** Why it was not told of the others: `OVER_BUDGET`, or what filtered them. */
  readonly rest: string;
  /** Stays the same object while `told` stays the same. */
  readonly key: object;
  /** Ids of the skills that stood beside this message only. */
  readonly shown?: readonly string[];
}

export const OVER_BUDGET = 'over budget';
