import { FileRefused, GuardedPlaces, type Jail } from '@pith/safe-files';
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
    return !this.places.holdsState(names);
  }

  /** Throws `protected` for state and settings, which hold what belongs to others. */
  requireReadable(names: readonly string[]): void {
    if (!this.isReadable(names)) throw isState(names);
  }

  /** Why a person is asked before this changes; null: nobody is. Throws `protected`, or `use_proposal` for a file of an existing skill. */
  async reasonToAsk(names: readonly string[]): Promise<string | null> {
    this.requireReadable(names);
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

/** What is being written, and loaded by nobody: a person is asked when it is activated. Hidden names in it are still read by editors. */
const STAGING = '.staging';
const ORDINARY = /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}_ .()+,@=-]*$/u;

/** The path without what makes a skill of it: where new skills need nobody, that alone is no reason to ask. */
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
