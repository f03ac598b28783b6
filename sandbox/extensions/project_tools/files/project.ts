import path from 'node:path';
import type { Places, TurnInfo } from 'pith';
import { FileRefused, isInside, isSkillCase, Jail, realPathOf, type StagingNotes } from '@pith/safe-files';
import { guardOf } from './guarded-files.ts';

/** The person's project: the folder that file tools and commands stay in, and the parts of it that they may not use. */
export interface Project {
  readonly root: string;
  readonly jail: Jail;
  /** Absolute: the project's sandbox with its settings, extensions, agents and skills; may be elsewhere. */
  readonly sandbox: string;
  /** Absolute: the folder of all state. */
  data(): string;
  /** Absolute; null where there is none. */
  readonly home: string | null;
  /** The names from the project down to `given`. Throws for a path that leads out of it, for state and settings, and for cases of skills. */
  names(given: string): readonly string[];
  /** The target of `given`: the names themselves, or those to which a link within the project leads. Throws as `names`. */
  followed(given: string): readonly string[];
  /** A function that is false for state, settings, git's own files and the cases of skills, as they are now: no tool reads them. */
  visible(): (names: readonly string[]) => boolean;
  /** Absolute paths of the folders of skills, wherever they are. */
  skills(): Promise<readonly string[]>;
  /** Whether agents may change this Pith, and what it and people's tools go by, in the turns of this user. */
  mayChangePith(userId: string): Promise<boolean>;
  /** Before a command runs in no sandbox: what it changes in them waits for a person. */
  unconfined(program: string, turn: TurnInfo): Promise<void>;
  /** What an agent does in place of a change in them, as the end of a sentence. */
  proposalCure(turn: TurnInfo): Promise<string>;
  /** Whether it lies in one of them. */
  isOfSkills(names: readonly string[]): Promise<boolean>;
  /** Why a change needs a person's approval each time; null: an `always` may cover it. Throws for files that are changed in another way. */
  changeGuard(names: readonly string[]): string | null;
}

/** null: there is no usable project. */
export function openProject(
  places: Pick<Places, 'project' | 'sandbox' | 'home'>,
  data: () => string,
  {
    skills,
    mayChangePith,
    unconfined,
    proposalCure,
    notes = null,
  }: Pick<Project, 'skills' | 'mayChangePith' | 'unconfined' | 'proposalCure'> & { readonly notes?: StagingNotes | null },
): Project | null {
  if (places.project === null) return null;
  const jail = new Jail(places.project, undefined, notes);
  const sandbox = realPathOf(places.sandbox);
  const below = (names: readonly string[], folder: string): boolean => {
    const at = path.join(jail.root, ...names).toLowerCase(); // as systems compare names that ignore case
    const place = folder.toLowerCase();
    return at === place || at.startsWith(`${place}${path.sep}`);
  };
  const visible = () => {
    const state = [realPathOf(data()), path.join(sandbox, 'data')];
    return (names: readonly string[]): boolean => {
      if (names.some((name) => name.toLowerCase() === '.git') || isSkillCase(jail.root, names)) return false;
      if (state.some((folder) => below(names, folder))) return false;
      return !(isSettingsFile(names.at(-1) ?? '') && below(names, sandbox));
    };
  };
  const names = (given: string): readonly string[] => {
    const found = jail.namesOf(given);
    if (isSkillCase(jail.root, found))
      throw new FileRefused('protected', `'${found.join('/')}' is among the cases by which a skill is measured: agents do not read them`);
    if (!visible()(found))
      throw new FileRefused(
        'protected',
        `'${found.join('/')}' contains state or settings, which agents neither read nor change; ask the person`,
      );
    return found;
  };
  return {
    root: jail.root,
    jail,
    sandbox,
    data,
    home: places.home,
    names,
    followed(given) {
      const found = names(given);
      const real = realPathOf(path.join(jail.root, ...found));
      return isInside(real, jail.root) ? names(path.relative(jail.root, real)) : found; // which the jail refuses
    },
    visible,
    skills,
    mayChangePith,
    unconfined,
    proposalCure,
    async isOfSkills(found) {
      return (await skills()).some((folder) => below(found, folder) || below(found, realPathOf(folder)));
    },
    changeGuard(found) {
      if (below(found, sandbox))
        throw new FileRefused(
          'use_file',
          `'${found.join('/')}' is in Pith's own sandbox: change extensions, agents and skills with the tool 'file' or the builder`,
        );
      return guardOf(found);
    },
  };
}

/** A settings file of the sandbox. */
export function isSettingsFile(name: string): boolean {
  return /^pith(?:\..*)?\.ya?ml$/iu.test(name);
}
