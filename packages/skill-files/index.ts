export { type SkillFields, type SkillScript } from './format/fields.ts';
export { placesIn, type Finding } from './format/finding.ts';
export { FRONTMATTER_LIMIT, splitFrontmatter } from './format/frontmatter.ts';
export { loadPatternCompiler, type Pattern } from './format/patterns.ts';
export { COPY_IT, FILE_LIMIT, RULE, SEVERAL_LINKS } from './format/rules.ts';
export {
  loadRepairing,
  parseHead,
  parseSkillFile,
  unreadable,
  withPatternsChecked,
  type Mode,
  type ParsedSkill,
  type Repairing,
} from './format/skill-file.ts';
export { isOfPackage, openBelow, openFolder, stillInside, type Inside, type ProveBy } from './reading/inside.ts';
export { NO_REGULAR_FILE, readRegularFile, reasonOf } from './reading/regular-file.ts';
export { readSkillFile } from './reading/skill-text.ts';
export { listResources, type ResourceEntry, type ResourceList } from './reading/resource-list.ts';
export {
  bytesOf,
  componentsOf,
  isOwnFile,
  PART_BYTES,
  readResource,
  resourceBytes,
  type Resource,
  type ResourceBytes,
} from './reading/resource.ts';
export type { FoundDirectory, FoundSkill, ScanOptions, ScanSource, SkillBody, SourceScan } from './scan/found.ts';
export { canonical, idOf } from './scan/skill-reader.ts';
export { LINK_REFUSED } from './scan/scan-findings.ts';
export { DEPTH_LIMIT, NOTHING_FOUND, scanSource } from './scan/scan.ts';
export { briefOf, clean } from './text/brief.ts';
export { catalogLine, catalogPurpose, lineOf, WHOLE_LINE } from './text/catalog-line.ts';
export { diagnosticJson, diagnosticText } from './text/brief.ts';
export { PLACEHOLDERS, templateOf } from './text/template.ts';
export { estimateTokens } from './text/token-estimate.ts';
export { lintSkill, lintSkills, skillFilesOf, type LintResult } from './lint/lint.ts';
export { copySkill, type Digests, SkillTooLarge } from './tree/copy-skill.ts';
export {
  Yielder,
  digestsOf,
  fileContent,
  type FileContent,
  FolderTree,
  folderTree,
  inPieces,
  placeOf,
  SKILL_LIMITS,
  treeDigest,
  TREE_LIMITS,
  type TreeEntry,
  type TreeFile,
  withContents,
} from './tree/folder-tree.ts';
export { beginsAsScript, isProgram, type ProgramFacts } from './tree/program.ts';
export { isSame, isSettled, realOf, sizeOf, stampOf, statOf, type Stamp, type Stats } from './tree/stamp.ts';
export {
  changedRisks,
  digestCopy,
  digestTree,
  isRisky,
  readTree,
  type CopiedFile,
  type Declared,
  type SkillTree,
  type TreeDigests,
} from './tree/skill-tree.ts';
