import { FileRefused, GuardedPlaces, isSkillCase, type Jail } from '@pith/safe-files';
import type { Config } from './config.ts';

/** What may be read or changed without a person, what needs one, and what is never done here. */
export class Policy {
  private readonly places: GuardedPlaces;

  constructor(
    jail: Jail,
    private readonly config: Config,
    dataDirectory: () => string,
  ) {
    this.places = new GuardedPlaces(jail, dataDirectory);
  }

  isReadable(names: readonly string[]): boolean {
    return !this.places.holdsState(names) && !isSkillCase(names);
  }

  /** Throws `protected` for state and settings, which contain data of others, and for the cases by which skills are measured. */
  requireReadable(names: readonly string[]): void {
    if (this.places.holdsState(names)) throw isState(names);
    if (isSkillCase(names))
      throw new FileRefused('protected', `'${names.join('/')}' is among the cases by which a skill is measured: agents do not read them`);
  }

  /**
   * Why a person is asked before this changes; null: nobody is asked. Throws `protected`, or `use_proposal` for a file of an existing
   * skill.
   */
  async reasonToAsk(names: readonly string[]): Promise<string | null> {
    if (this.places.holdsState(names)) throw isState(names);
    const [first = '', ...rest] = names;
    if (first === STAGING && rest.length > 0 && rest.every((name) => ORDINARY.test(name))) return null;
    const guard = await this.places.guardOf(names, this.config.new_skills === 'auto' ? withoutSkill(names) : names);
    if (guard?.kind === 'state') throw isState(names);
    if (guard?.kind === 'skill')
      throw new FileRefused(
        'use_proposal',
        `'${names.join('/')}' belongs to the skill '${guard.skill}', which exists: only a person changes it, so propose the change to them. (A new skill of several files is made by one apply_patch)`,
      );
    return guard?.why ?? null;
  }
}

/** The folder for work in progress, which nothing loads: a person is asked when it is activated. Editors still read hidden names in it. */
const STAGING = '.staging';
const ORDINARY = /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}_ .()+,@=-]*$/u;

/** The path without the parts that make it a skill: where new skills need no approval, those alone are no reason to ask. */
function withoutSkill(names: readonly string[]): readonly string[] {
  const [first = '', ...rest] = names;
  const below = first.toLowerCase() === 'skills' && rest.length > 0 ? rest : names;
  return below.at(-1)?.toLowerCase() === 'skill.md' ? [...below.slice(0, -1), 'text.md'] : below;
}

function isState(names: readonly string[]): FileRefused {
  return new FileRefused(
    'protected',
    `'${names.join('/')}' contains state or settings, which agents neither read nor change; ask the person`,
  );
}
