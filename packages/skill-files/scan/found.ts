import type { SkillFields } from '../format/fields.ts';
import type { Diagnostic, ParsedSkill } from '../format/skill-file.ts';
import type { Stamp } from '../tree/stamp.ts';

/** A SKILL.md as a scan found it. */
export interface FoundSkill {
  readonly id: string;
  readonly directory: string;
  /** `directory` with links resolved. */
  readonly realDirectory: string;
  readonly file: string;
  readonly stamp: Stamp;
  /** False: it changed so recently that the next scan reads it again. */
  settled: boolean;
  readonly parsed: ParsedSkill;
  /** The last valid version, where the current one is invalid. */
  readonly good: GoodVersion | null;
  /** The digest of the file, once something has asked for it. */
  digest: string | null;
  /** Tokens of the body, once it has been read. */
  bodyTokens: number | null;
}

export interface GoodVersion {
  readonly fields: SkillFields;
  readonly tokens: number;
  readonly body: SkillBody | null;
}

/** The body of a SKILL.md with facts about its file. */
export interface SkillBody {
  /** All after the frontmatter, byte for byte. */
  readonly body: string;
  /** The hex digest of the whole SKILL.md. */
  readonly sha256: string;
  /** The size of the whole SKILL.md. */
  readonly bytes: number;
  /** Why this is not the file's current content; absent when it is. */
  readonly stale?: string;
}

/** A folder without a SKILL.md, into which the scan descends. */
export interface FoundDirectory {
  readonly stamp: Stamp;
  settled: boolean;
  readonly children: readonly string[];
  readonly links: readonly string[];
  /** The name of a skill file that is not spelt SKILL.md, or null. */
  readonly oddFile: string | null;
  readonly hasFiles: boolean;
  /** The plugin's name, if the folder is a plugin; else null. */
  readonly plugin: string | null;
}

export interface SourceScan {
  /** By directory. */
  readonly skills: ReadonlyMap<string, FoundSkill>;
  /** By absolute path; the source's own directory is the first. */
  readonly directories: ReadonlyMap<string, FoundDirectory>;
  readonly diagnostics: readonly Diagnostic[];
  /** The skills that this scan had to read. */
  readonly read: readonly FoundSkill[];
}

/** A folder below which skills are searched. */
export interface ScanSource {
  /** The name of the source in findings. */
  readonly label: string;
  /** Absolute. */
  readonly directory: string;
  /** Somebody configured it, so its absence is a warning. */
  readonly configured: boolean;
  /** The folder in which its real path must be, unless below `trustedLinks`; absent: anywhere. */
  readonly within?: string;
}

export interface ScanOptions {
  /** Absolute paths outside the source to which links may lead. */
  readonly trustedLinks: readonly string[];
  readonly now: () => number;
  /** The label of the source that contains a real path. */
  readonly ownerOf?: (real: string) => string | undefined;
  /** The stored last valid body of a file that is invalid now. */
  readonly goodBody?: (file: string) => SkillBody | null;
  /** Another process made the previous scan: this one has seen no valid version of a file that is invalid now. */
  readonly isRestored?: boolean;
  /** How a person allows a link, and a source that is a link, for the cures of findings. */
  readonly cures?: { readonly link: string; readonly source: string };
}
