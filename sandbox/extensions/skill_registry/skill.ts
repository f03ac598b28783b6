import type { Diagnostic, SkillProvider } from 'pith';
import type { SkillFields } from './format/fields.ts';

export type SkillSummary = Awaited<ReturnType<SkillProvider['listSkills']>>[number];
export type SkillState = SkillSummary['state'];

/** All that the registry keeps of one SKILL.md; never the body. */
export interface Skill extends SkillFields {
  /** The directory's name. */
  readonly id: string;
  /** The label of the source it was found in: `sandbox/skills`, `bundled`, … */
  readonly source: string;
  /** Absolute path of the folder as it was found. */
  readonly directory: string;
  /** Where that folder really was when it was found, links followed: nothing outside of it is ever read. */
  readonly realDirectory: string;
  /** Absolute path of the SKILL.md. */
  readonly file: string;
  /** What identifies this version of the file without reading it. */
  readonly stamp: string;
  /** Of the body. */
  readonly tokens: number;
  /** `tokens` is taken from the size, because nobody has read the body yet. */
  readonly tokensEstimated: boolean;
  readonly state: SkillState;
  /** Why it is not offered; null when it is. */
  readonly reason: string | null;
  readonly diagnostics: readonly Diagnostic[];
}

/** One immutable view of all sources. A turn keeps the one that it began with. */
export interface Snapshot {
  readonly generation: number;
  /** The winner of each id, in whatever state, sorted by id. */
  readonly skills: ReadonlyMap<string, Skill>;
  /** Every skill found, shadowed and invalid ones too, sorted by id, then precedence. */
  readonly all: readonly Skill[];
  /** Unique display names that differ from every id → id. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Findings that belong to no skill: a missing source, a folder without SKILL.md, a refused link. */
  readonly diagnostics: readonly Diagnostic[];
}

/** Ids that changed between two snapshots. */
export interface SnapshotChange {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** What others are told of a skill in whatever state. */
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
