import path from 'node:path';
import { codeOf, messageOf, type TurnInfo } from 'pith';
import { FileRefused, GuardedPlaces, isInside, isSkillCase, isThere, type Jail, realPathOf } from '@pith/safe-files';
import { sha256 } from '@pith/plain-data';
import type { DraftedFile, SkillDrafts } from 'pith/skill_registry';

/** A file that a tool is about to write. */
export interface WrittenFile {
  readonly names: readonly string[];
  readonly bytes: Uint8Array;
}

/** What the answer of a tool says of a draft that it wrote. */
export type DraftNote = {
  readonly skill: string;
  readonly state: 'draft';
  /** Ids of the nearest skills, best first; absent: its SKILL.md was not written. */
  readonly nearest?: string[];
  readonly next: string;
};

export interface PolicyPorts {
  /** The folder of all state. */
  readonly data: () => string;
  /** Who keeps what agents write of new skills; null: nobody, and a person is asked about each file. */
  readonly drafts: () => SkillDrafts | null;
  /** Whether agents may change this Pith in the turns of this user. */
  readonly mayChangePith: (userId: string) => Promise<boolean>;
}

/** What may be read or changed without a person, what needs one, and what is never done here. */
export class Policy {
  private readonly places: GuardedPlaces;

  constructor(
    private readonly jail: Jail,
    private readonly ports: PolicyPorts,
  ) {
    this.places = new GuardedPlaces(jail, ports.data);
  }

  /** As `Jail.namesOf`; of a skill that is not there those of its draft, in which agents write and read it. */
  namesOf(given: string): readonly string[] {
    const names = this.jail.namesOf(given);
    const [first, id, ...rest] = names;
    if (first !== SKILLS || id === undefined || this.ports.drafts() === null || isThere(path.join(this.jail.root, SKILLS, id)))
      return names;
    const isDraft = rest.length > 0 || isThere(path.join(this.jail.root, STAGING, SKILLS, id));
    return isDraft ? [STAGING, SKILLS, id, ...rest] : names;
  }

  isReadable(names: readonly string[]): boolean {
    return !this.places.holdsState(names) && !isSkillCase(this.jail.root, names);
  }

  /** Throws `protected` for state and settings, which contain data of others, and for the cases by which skills are measured. */
  requireReadable(names: readonly string[]): void {
    if (this.places.holdsState(names)) throw isState(names);
    if (isSkillCase(this.jail.root, names))
      throw new FileRefused('protected', `'${names.join('/')}' is among the cases by which a skill is measured: agents do not read them`);
  }

  /**
   * Why a person is asked before this changes; null: nobody is asked. Throws `protected`, `not_allowed` for what only administrators have
   * changed, `use_proposal` for what belongs to a skill, and what is said against a draft.
   */
  async reasonToAsk(names: readonly string[], turn: TurnInfo): Promise<string | null> {
    if (this.places.holdsState(names)) throw isState(names);
    const drafts = this.ports.drafts();
    const draft = draftOf(names);
    if (draft !== null && drafts !== null) await refusing(drafts.write(draft, [], turn));
    const [first = '', ...rest] = names;
    if (first === STAGING && rest.length > 0 && rest.every((name) => ORDINARY.test(name))) return null;
    const guard = await this.places.guardOf(names);
    if (guard?.kind === 'state') throw isState(names);
    if (guard?.kind === 'skill')
      throw new FileRefused(
        'use_proposal',
        `'${names.join('/')}' belongs to the skill '${guard.skill}', which exists: ${await cureOf(drafts, turn)}`,
      );
    if (drafts !== null && (await this.isOfSkills(names, drafts)))
      throw new FileRefused(
        'use_proposal',
        `'${names.join('/')}' is in a folder of skills, where only people write: ${await cureOf(drafts, turn)}; a new skill is made as skills/<id>/SKILL.md`,
      );
    if (guard !== null && !(await this.ports.mayChangePith(turn.userId)))
      throw new FileRefused('not_allowed', `'${names.join('/')}' ${guard.why}: agents change such files for administrators only`);
    return guard?.why ?? null;
  }

  /** Before files are written: records which of them are of a draft. Throws `use_proposal` for a draft that is nearly a skill. */
  async beforeWrite(files: readonly WrittenFile[], turn: TurnInfo): Promise<readonly DraftNote[]> {
    const drafts = this.ports.drafts();
    if (drafts === null) return [];
    const skills = [...new Set(files.flatMap(({ names }) => draftOf(names) ?? []))];
    const notes: DraftNote[] = [];
    for (const skill of skills) {
      const its = files.filter(({ names }) => draftOf(names) === skill);
      const written = its.map(({ names, bytes }) => draftedFile(names.slice(DRAFT_DEPTH).join('/'), bytes));
      const nearest = await refusing(drafts.write(skill, written, turn));
      const isWhole = written.some(({ text }) => text !== undefined);
      notes.push({
        skill,
        state: 'draft',
        ...(isWhole ? { nearest: [...nearest] } : {}),
        next: `nothing offers it until a person accepts it: pith skills accept ${skill}`,
      });
    }
    return notes;
  }

  isOfDraft(names: readonly string[]): boolean {
    return draftOf(names) !== null && this.ports.drafts() !== null;
  }

  private async isOfSkills(names: readonly string[], drafts: SkillDrafts): Promise<boolean> {
    const first = names[0]?.toLowerCase() ?? '';
    if (CODE_FOLDERS.has(first)) return false; // skills in these are part of code, about which a person is asked
    const place = path.join(this.jail.root, ...names);
    return first === SKILLS || (await drafts.folders()).some((folder) => isInside(place, folder) || isInside(place, realPathOf(folder)));
  }
}

/** For the answer of a tool. */
export function noted(drafts: readonly DraftNote[]): { readonly drafts?: DraftNote[] } {
  return drafts.length === 0 ? {} : { drafts: [...drafts] };
}

const SKILLS = 'skills';
const CODE_FOLDERS: ReadonlySet<string> = new Set(['extensions', 'agents']);
/** The folder for work in progress, which nothing loads: a person is asked when it is activated. Editors still read hidden names in it. */
const STAGING = '.staging';
const ORDINARY = /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}_ .()+,@=-]*$/u;
/** Names that lead to the folder of a draft. */
const DRAFT_DEPTH = 3;

/** What an agent does in place of a change of a skill. */
async function cureOf(drafts: SkillDrafts | null, turn: TurnInfo): Promise<string> {
  return drafts?.proposalCure(turn) ?? 'propose a change to the person, who makes it';
}

/** The skill of whose draft this is a file; null: of none. */
function draftOf(names: readonly string[]): string | null {
  return names[0] === STAGING && names[1] === SKILLS && names.length > DRAFT_DEPTH ? (names[2] ?? null) : null;
}

function draftedFile(name: string, bytes: Uint8Array): DraftedFile {
  const file = { path: name, sha256: sha256(bytes) };
  return name.toLowerCase() === 'skill.md' ? { ...file, text: Buffer.from(bytes).toString() } : file;
}

/** What is said against a draft, as a refusal of the file. */
async function refusing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new FileRefused(codeOf(error, 'file_failed'), messageOf(error));
  }
}

function isState(names: readonly string[]): FileRefused {
  return new FileRefused(
    'protected',
    `'${names.join('/')}' contains state or settings, which agents neither read nor change; ask the person`,
  );
}
