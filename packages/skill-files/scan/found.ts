import type { SkillFields } from '../format/fields.ts';
import type { Diagnostic, ParsedSkill } from '../format/skill-file.ts';
import type { Stamp } from '../tree/stamp.ts';

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

/** A folder below which skills are looked for. */
export interface ScanSource {
  /** As findings name it. */
  readonly label: string;
  /** Absolute. */
  readonly directory: string;
  /** Somebody named it: its absence is worth a warning. */
  readonly configured: boolean;
  /** Where it must really lie, or under `trustedLinks`; absent: anywhere. */
  readonly within?: string;
}

export interface ScanOptions {
  /** Absolute paths beside the source to which links may lead. */
  readonly trustedLinks: readonly string[];
  readonly now: () => number;
  /** The label of a source in which that real path lies. */
  readonly ownerOf?: (real: string) => string | undefined;
  /** The last good body of a file that is broken now, where it is kept. */
  readonly goodBody?: (file: string) => SkillBody | null;
  /** Another process found what was before: of a file that is broken now this one has seen no good version. */
  readonly isRestored?: boolean;
  /** How a person lets a link be followed, and has a folder that is a link looked into, as the cures of findings say it. */
  readonly cures?: { readonly link: string; readonly source: string };
}
