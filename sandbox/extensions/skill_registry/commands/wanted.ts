import { PithError } from 'pith';
import { didYouMean } from '@pith/plain-text';
import type { SkillRegistry } from '../registry.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { findSkill } from '../scan/snapshot.ts';

/** The skill that a person means by an id, a display name or `source/id`. Throws `skill_not_found`, with what lies there instead. */
export async function wantedSkill({ sources }: SkillRegistry, snapshot: Snapshot, reference: string): Promise<Skill> {
  const skill = findSkill(snapshot, reference);
  if (skill !== undefined) return skill;
  const { whyAbsent } = await import('./absent.ts');
  const absent = whyAbsent(sources, snapshot, reference);
  if (absent !== null)
    throw new PithError(
      'skill_not_found',
      `'${reference}'${absent.file === undefined ? '' : ` in ${absent.file}`} is no skill: ${absent.message}`,
      {
        where: absent.file,
        cure: absent.cure,
      },
    );
  const hint = didYouMean(reference, [...snapshot.skills.keys(), ...snapshot.aliases.keys()]);
  throw new PithError('skill_not_found', `no skill is named '${reference}'${hint}`, { cure: 'see pith skills list --all' });
}
