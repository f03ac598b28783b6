import type { Diagnostic } from 'pith';
import type { ParsedSkill, SkillFields, Stamp } from '@pith/skill-files';

/** A SKILL.md as one scan found it. */
export interface FoundSkill {
  readonly id: string;
  readonly directory: string;
  /** `directory` without links. */
  readonly realDirectory: string;
  readonly file: string;
  readonly stamp: Stamp;
  /** False: it changed so recently that the next scan reads it again. */
  settled: boolean;
  readonly parsed: ParsedSkill;
  /** The last valid version, where this one is not. */
  readonly good: GoodVersion | null;
  /** The digest of the file, once something had to compare it. */
  digest: string | null;
  /** Tokens of the body, once it has been read. */
  bodyTokens: number | null;
}

export interface GoodVersion {
  readonly fields: SkillFields;
  readonly tokens: number;
  readonly body: SkillBody | null;
}

/** The body of a SKILL.md as it was read. */
export interface SkillBody {
  /** What follows the frontmatter, byte for byte. */
  readonly body: string;
  /** Hex digest of the whole SKILL.md. */
  readonly sha256: string;
  /** Size of the whole SKILL.md. */
  readonly bytes: number;
  /** Why this is not what the file holds now; absent when it is. */
  readonly stale?: string;
}

/** A folder without a SKILL.md, into which the scan descends. */
export interface FoundDirectory {
  readonly stamp: Stamp;
  settled: boolean;
  readonly children: readonly string[];
  readonly links: readonly string[];
  /** The name of a skill file that is not written SKILL.md, or null. */
  readonly oddFile: string | null;
  readonly hasFiles: boolean;
  /** The name of the plugin that the folder is, or null. */
  readonly plugin: string | null;
}

export interface SourceScan {
  /** By directory. */
  readonly skills: ReadonlyMap<string, FoundSkill>;
  /** By absolute path; the source's own directory is the first. */
  readonly directories: ReadonlyMap<string, FoundDirectory>;
  readonly diagnostics: readonly Diagnostic[];
  /** What this scan had to read. */
  readonly read: readonly FoundSkill[];
}

export interface ScanOptions {
  readonly trustedLinks: readonly string[];
  readonly now: () => number;
  /** The label of a source in which that real path lies. */
  readonly ownerOf?: (real: string) => string | undefined;
  readonly goodBody: (file: string) => SkillBody | null;
}
