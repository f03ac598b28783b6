import { PithError } from 'pith';
import { didYouMean } from '@pith/plain-text';
import type { SkillRegistry } from '../registry.ts';
import { canonical, findSkill } from '../scan/names.ts';
import type { Source } from '../scan/sources.ts';
import type { Skill, Snapshot } from '../skill.ts';

/** What a person means by the argument of `skills trust`. */
export interface TrustTarget {
  readonly source: Source;
  /** The one that is meant; null: all of the source. */
  readonly skill: Skill | null;
  /** Those that can be trusted. */
  readonly skills: readonly Skill[];
  /** How many are invalid. */
  readonly left: number;
}

/** A source by its label or folder, or one skill. Throws `skill_not_found`. */
export function trustTarget({ sources }: SkillRegistry, snapshot: Snapshot, reference: string): TrustTarget {
  const named = canonical(reference).replace(/^\.\/|\/+$/g, '');
  const source = sources.find(({ label, directory }) => canonical(label) === named || directory === named);
  if (source !== undefined) {
    const all = snapshot.all.filter((skill) => skill.source === source.label);
    if (all.length === 0)
      throw new PithError('skill_not_found', `the source '${source.label}' has no skills`, {
        where: source.directory,
        cure: 'see pith skills list --all',
      });
    const skills = all.filter(({ state }) => state !== 'invalid');
    return { source, skill: null, skills, left: all.length - skills.length };
  }
  const skill = findSkill(snapshot, named);
  const its = skill && sources.find(({ label }) => label === skill.source);
  if (skill === undefined || its === undefined) {
    const labels = sources.filter(({ trusted }) => !trusted).map(({ label }) => label);
    throw new PithError('skill_not_found', `no source of skills is called '${reference}'${didYouMean(reference, labels)}`, {
      cure: 'name one as pith skills list --all shows it, or source/id for one skill',
    });
  }
  if (skill.state === 'invalid')
    throw new PithError('not_allowed', `skill '${skill.id}' is invalid: ${skill.reason ?? ''}`, {
      where: skill.file,
      cure: 'fix it first',
    });
  return { source: its, skill, skills: [skill], left: 0 };
}

/** Why nobody has to trust that source by hand. */
export function trustedWithoutAsking({ configured, label }: Source): string {
  if (configured) return 'the settings name the source';
  if (label === 'sandbox/skills') return "it is the sandbox's own folder";
  return label.startsWith('bundled') ? 'they come with Pith' : 'it is in your home folder';
}
