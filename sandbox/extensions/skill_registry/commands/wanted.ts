import { didYouMean, PithError } from 'pith';
import type { Skill, Snapshot } from '../skill.ts';
import { findSkill } from '../scan/snapshot.ts';

/** The skill that a person means by an id, a display name or `source/id`. Throws `skill_not_found`. */
export function wantedSkill(snapshot: Snapshot, reference: string): Skill {
  const skill = findSkill(snapshot, reference);
  if (skill !== undefined) return skill;
  const hint = didYouMean(reference, [...snapshot.skills.keys(), ...snapshot.aliases.keys()]);
  throw new PithError('skill_not_found', `no skill is named '${reference}'${hint}`, { cure: 'see pith skills list --all' });
}
