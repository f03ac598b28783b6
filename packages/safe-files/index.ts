export { isBelow, isInside, realOf } from './paths.ts';
export { runsLater } from './runs-later.ts';
export { makeFolders, replaceFile, stateFolder, type StateFolder } from './state-files.ts';
