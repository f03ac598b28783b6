import { PithError, type SkillProvider } from 'pith';
import { didYouMean, printableLine } from '@pith/plain-text';
import type { SkillBody } from './bodies.ts';
import type { SkillRegistry } from './registry.ts';
import { findSkill } from './scan/names.ts';
import { notOffered, type Skill } from './skill.ts';
import { namesVersion } from './versions/versions.ts';

type SkillContent = Awaited<ReturnType<SkillProvider['getSkillContent']>>;

/** The body of an offered skill for binding; the last good one of a skill that has gone since. */
export async function contentOf(registry: SkillRegistry, name: string): Promise<SkillContent> {
  const snapshot = registry.current();
  const skill = namesVersion(snapshot, name) ? await registry.versions.find(snapshot, name) : findSkill(snapshot, name);
  if (skill === undefined) {
    const last = registry.lastGood(name);
    if (last !== null)
      return content(last.skill, { ...last.body, stale: `skill '${printableLine(name)}' was removed; this is its last good version` });
    const hint = didYouMean(name, [...snapshot.skills.keys()]);
    throw new PithError('skill_not_found', `no skill is called '${printableLine(name)}'${hint}`, {
      cure: 'correct the id or add the skill',
    });
  }
  if (skill.state !== 'offered' && skill.state !== 'shadowed') throw notOffered(skill);
  return content(skill, await registry.readBody(skill));
}

function content({ id, name, version }: Skill, { body, sha256, stale }: SkillBody): SkillContent {
  return { id, name, version, sha256, body, ...(stale === undefined ? {} : { stale }) };
}
