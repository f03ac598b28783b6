/** By what way a skill's body came to a turn. */
export type SkillHow = 'read_skill' | 'skill' | 'trigger' | 'uses_skills' | 'run_skill';

/** What a turn did with a skill. */
export type SkillUse =
  | {
      readonly skillId: string;
      readonly state: 'loaded';
      readonly how: SkillHow;
      /** Of the whole SKILL.md. */
      readonly sha256: string;
      /** Which of its numbered parts; absent: the whole body. */
      readonly part?: number;
      /** The call's `idempotencyKey`: a repeated attempt at the same call gets the same answer. */
      readonly callKey?: string;
      /** The thread held it already, and was only pointed to it. */
      readonly again?: true;
      /** It came by the match of an earlier turn, which is not prolonged by it. */
      readonly carried?: true;
    }
  | { readonly skillId: string; readonly state: 'resource_read'; readonly path: string }
  | { readonly skillId: string; readonly state: 'script_run'; readonly path: string; readonly exit: number | null };

export type SkillLoad = Extract<SkillUse, { readonly state: 'loaded' }>;

/** How a body that is about to be returned relates to what the thread holds already. */
export type Familiarity = 'new' | 'same' | 'changed';

/** No declared agent has a colon in its id. */
const PREFIX = 'skill:';

/** The agent that `run_skill` makes of a skill. */
export function workerIdOf(skillId: string): string {
  return PREFIX + skillId;
}
