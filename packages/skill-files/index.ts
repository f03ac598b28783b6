export { type SkillFields, type SkillScript } from './format/fields.ts';
export { FRONTMATTER_LIMIT, splitFrontmatter } from './format/frontmatter.ts';
export { loadPatternCompiler, type Pattern } from './format/patterns.ts';
export { COPY_IT, FILE_LIMIT, SEVERAL_LINKS } from './format/rules.ts';
export { parseSkillFile, type Mode } from './format/skill-file.ts';
export { reasonOf } from './reading/reason.ts';
export { GONE, readSkillFile } from './reading/skill-text.ts';
export { listResources, readableFiles, type ResourceList } from './reading/resource-list.ts';
export { componentsOf, readResource, resourceBytes } from './reading/resource.ts';
export type { FoundDirectory, FoundSkill, ScanOptions, SkillBody, SourceScan } from './scan/found.ts';
export { canonical, idOf } from './scan/skill-reader.ts';
export { LINK_REFUSED } from './scan/scan-findings.ts';
export { DEPTH_LIMIT, NOTHING_FOUND, scanSource } from './scan/scan.ts';
export { briefOf, clean, diagnosticJson, diagnosticText } from './text/brief.ts';
export { catalogLine, catalogPurpose, lineOf, WHOLE_LINE } from './text/catalog-line.ts';
export { PLACEHOLDERS, templateOf } from './text/template.ts';
export { isComparable, likenessOf, type SkillWords, termsOf, wordsOf } from './lint/likeness.ts';
export { lintSkill, lintSkills, skillFilesOf, type LintResult } from './lint/lint.ts';
export { copySkill, type Digests, SkillTooLarge } from './tree/copy-skill.ts';
export {
  Yielder,
  fileContent,
  FolderTree,
  folderTree,
  inPieces,
  placeOf,
  SKILL_LIMITS,
  treeDigest,
  type TreeFile,
  withContents,
  type TreeEntry,
} from './tree/folder-tree.ts';
export { folderDiff, folderDiffLines, type FileChange } from './tree/folder-diff.ts';
export { beginsAsScript, isProgram } from './tree/program.ts';
export { realOf, sizeOf, statOf } from './tree/stamp.ts';
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
