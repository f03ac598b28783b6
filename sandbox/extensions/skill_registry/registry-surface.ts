import type { Clock, Logger } from 'pith';
import type { SkillBody } from './body.ts';
import type { RegistryConfig, Source } from './scan/sources.ts';
import type { Skill, Snapshot, SnapshotChange } from './skill.ts';
import type { Trust } from './trust/trust.ts';

export interface RegistryOptions {
  /** Absolute. */
  readonly sandbox: string;
  /** Absolute; what relative paths of the settings are relative to. */
  readonly project: string;
  /** A sandbox that nobody has trusted: the skills of it and its project are listed, never offered. */
  readonly untrustedSandbox?: string | null;
  /** The user's home folder; null or absent: there is none. */
  readonly home?: string | null;
  /** Absolute path of the shipped skills, or null where the sandbox holds them itself. */
  readonly bundled?: string | null;
  /** Folders of skills that shipped extensions carry, by the extension's id. */
  readonly carried?: ReadonlyMap<string, string>;
  readonly dataDirectory: string;
  readonly config: RegistryConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether bodies that nobody asked for are kept too, so that a skill that breaks stays readable. A command leaves it out. `late`: once the process has lived a moment, or `keepBodies` is called. */
  readonly keepsBodies?: boolean | 'late';
  /** Called after each swap that changed something, never for the first snapshot. */
  readonly onChange?: (change: SnapshotChange, snapshot: Snapshot) => void;
}

export interface LastGood {
  readonly skill: Skill;
  readonly body: SkillBody;
}

/** Knows every skill of every source. Snapshots are immutable and swapped at once. */
export interface SkillRegistry {
  readonly sources: readonly Source[];
  /** The newest snapshot; empty, generation 0, before the first `refresh`. */
  current(): Snapshot;
  /** Looks at every file's stamp, reads what changed and swaps. One at a time: a call during a scan gets the next one. */
  refresh(): Promise<Snapshot>;
  /** `refresh`, unless the last one began at most `ms` ago and the file system has hinted at no change since. */
  refreshIfOlderThan(ms: number): Promise<Snapshot>;
  /** The last body that was read of a skill that is gone or broken, or null. Accepts ids only. */
  lastGood(id: string): LastGood | null;
  /** The body as it is on disk now; `stale` says why where it is an earlier one. Rejects `skill_not_found`. */
  readBody(skill: Skill): Promise<SkillBody>;
  /** The body to be indexed, or null where it cannot be read now. Its tokens are counted where they are not yet: `publishTokens` makes them known. */
  studyBody(skill: Skill): Promise<string | null>;
  /** Swaps in a snapshot that says what has been counted since. Nothing else changes, and nobody is told. */
  publishTokens(): Promise<void>;
  /** False when a skill of a source that must be trusted is no longer what was trusted. Ask before its scripts or toolsets run. */
  isStillTrusted(skill: Skill): Promise<boolean>;
  /** What is trusted, and why what is not is not. */
  readonly trust: Trust;
  /** This process goes on for long: from now on bodies are kept as soon as they are found. */
  keepBodies(): Promise<void>;
  /** Rescans until `signal` aborts: every `poll_seconds`, and sooner when the file system hints at a change. */
  watch(signal: AbortSignal): Promise<void>;
  /** Writes what is still to be written. */
  close(): Promise<void>;
}
