export { CacheFile } from './cache-file.ts';
export { GuardedPlaces, type Guard } from './guarded-places.ts';
export { Jail, type Entry } from './jail.ts';
export { entriesOf, isBelow, isInside, isThere, linkTarget, namesIn, realPathOf } from './paths.ts';
export { lacksRoom, NO_ROOM } from './no-room.ts';
export { reachOf, type Reach } from './proven-folder.ts';
export {
  codeOf,
  fileBusy,
  FileRefused,
  isForbidden,
  isNothingThere,
  isPassing,
  isRefusal,
  refusalOf,
  unavailable,
  unlessRefused,
} from './refused.ts';
export { NO_REGULAR_FILE, readRegularFile, withRegularFile } from './regular-file.ts';
export { systemCure, systemReason } from './system-errors.ts';
export { isInstructions, runsLater, runsLaterIn } from './runs-later.ts';
export { isSecretFile, secretPlaces } from './secret-names.ts';
export { SKILL_HOMES, SKILL_PROJECTS, skillFolders, type SkillFolderPlaces } from './skill-folders.ts';
export { isCaseOfSkill, isSkillCase } from './skill-cases.ts';
export type { StagedFile } from './staged-file.ts';
export { StagingNotes } from './staging-notes.ts';
export { binaryType, decodeText, digestOf, PART_BYTES, readPart, readRange } from './text-files.ts';
export { kindOf, makeFolders, replaceFile, stateFolder, syncFolder, syncTree, type StateFolder } from './state-files.ts';
