export { GuardedPlaces, type Guard } from './guarded-places.ts';
export { Jail, type Entry } from './jail.ts';
export { isBelow, isInside, realPathOf } from './paths.ts';
export { reachOf, type Reach } from './proven-folder.ts';
export { FileRefused, unavailable } from './refused.ts';
export { runsLater } from './runs-later.ts';
export type { StagedFile } from './staged-file.ts';
export { makeFolders, replaceFile, stateFolder, type StateFolder } from './state-files.ts';
