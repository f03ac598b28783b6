import type { SkillSummary } from './skill.ts';
import type { Skill } from './skill.ts';

/** What others are told of a skill in whatever state. */
export function summaryOf(skill: Skill): SkillSummary {
  const { id, name, description, source, file, state, tokens, version, reason, diagnostics } = skill;
  return {
    id,
    name,
    description,
    source,
    path: file,
    state,
    tokens,
    diagnostics,
    ...(version === null ? {} : { version }),
    ...(reason === null ? {} : { reason }),
  };
}
