import { type Diagnostic, PithError, type SkillProvider } from 'pith';
import { printableLine } from '@pith/plain-text';
import type { SkillRecord } from './contract.ts';
import { TRUST_CURE } from './trust/trust.ts';

export type SkillSummary = Awaited<ReturnType<SkillProvider['listSkills']>>[number];
export type SkillState = SkillSummary['state'];

export type Skill = SkillRecord;

/** One immutable view of all sources. A turn keeps the one that it began with. */
export interface Snapshot {
  readonly generation: number;
  /** The one in which versions were put in the place of the present skills; absent: nothing was. */
  readonly base?: Snapshot;
  /** The winner of each id, in whatever state, sorted by id. */
  readonly skills: ReadonlyMap<string, Skill>;
  /** Every skill found, shadowed and invalid ones too, sorted by id, then precedence. */
  readonly all: readonly Skill[];
  /** Unique display names that differ from every id → id. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Findings that belong to no skill: a missing source, a folder without SKILL.md, a refused link. */
  readonly diagnostics: readonly Diagnostic[];
}

/** What others may know of a skill in whatever state. */
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

/** Why a skill that waits for a person, or is switched off, is given to nobody. */
export function notOffered(skill: Skill): PithError {
  const { id, state, reason, file } = skill;
  const message = printableLine(`skill '${id}' is ${state}: ${reason ?? state}`);
  return new PithError('skill_not_offered', message, { where: file, cure: cureOf(skill) });
}

/** What a person does about its state. */
export function cureOf({ state }: Pick<Skill, 'state'>): string | undefined {
  return state === 'offered' ? undefined : CURES[state];
}

const CURES = {
  draft: 'look at it and decide: pith skills accept, or pith skills discard',
  disabled: "its reason above says which line of 'skills' in pith.yaml keeps it off",
  untrusted: TRUST_CURE,
  invalid: 'correct its SKILL.md; see: pith skills validate',
  shadowed: 'remove the other one, or name this one with its source, as SOURCE/ID',
} as const;
