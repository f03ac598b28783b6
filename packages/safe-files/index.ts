export { CacheFile } from './cache-file.ts';
export { GuardedPlaces, type Guard } from './guarded-places.ts';
export { Jail, type Entry } from './jail.ts';
export { linesOf, textOfLines, withoutReturns, type Line } from './line-ends.ts';
export { isBelow, isInside, realPathOf } from './paths.ts';
export { reachOf, type Reach } from './proven-folder.ts';
export {
  answerOrRefusal,
  fileBusy,
  FileRefused,
  isNothingThere,
  isPassing,
  systemReason,
  unavailable,
  unlessRefused,
} from './refused.ts';
export { runsLater, runsLaterIn } from './runs-later.ts';
export { isSecretFile, secretPlaces } from './secret-names.ts';
export type { StagedFile } from './staged-file.ts';
export { BYTE_ORDER_MARK, binaryType, decodeText, digestOf, PART_BYTES, readPart, readRange } from './text-files.ts';
export { makeFolders, replaceFile, stateFolder, type StateFolder } from './state-files.ts';
