import { PithError, type SkillProvider } from 'pith';
import { didYouMean, printableLine } from '@pith/plain-text';
import type { SkillRegistry } from './registry.ts';
import { findSkill } from './scan/names.ts';
import { TRUST_CURE } from './trust/trust.ts';

/** The body of an offered skill for binding; the last good one of a skill that has gone since. */
export async function contentOf(registry: SkillRegistry, name: string): Promise<Awaited<ReturnType<SkillProvider['getSkillContent']>>> {
  const snapshot = registry.current();
  const skill = findSkill(snapshot, name);
  if (skill === undefined) {
    const last = registry.lastGood(name);
    if (last === null) {
      const hint = didYouMean(name, [...snapshot.skills.keys()]);
      throw new PithError('skill_not_found', `no skill is called '${printableLine(name)}'${hint}`, {
        cure: 'correct the id or add the skill',
      });
    }
    const { id, name: called, version } = last.skill;
    return {
      id,
      name: called,
      version,
      sha256: last.body.sha256,
      body: last.body.body,
      stale: `skill '${printableLine(name)}' was removed; this is its last good version`,
    };
  }
  if (skill.state !== 'offered' && skill.state !== 'shadowed') {
    const reason = skill.reason ?? skill.state;
    throw new PithError('skill_not_offered', printableLine(`skill '${skill.id}' is ${skill.state}: ${reason}`), {
      where: skill.file,
      cure: CURES[skill.state],
    });
  }
  const { body, sha256, stale } = await registry.readBody(skill);
  const { id, name: called, version } = skill;
  return { id, name: called, version, sha256, body, ...(stale === undefined ? {} : { stale }) };
}

const CURES = {
  draft: "move it to 'sandbox/skills'",
  disabled: "its reason above says which line of 'skills' in pith.yaml keeps it off",
  untrusted: TRUST_CURE,
  invalid: "see 'pith skills validate' and correct its SKILL.md",
} as const;
