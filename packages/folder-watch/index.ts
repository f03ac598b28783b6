export { FolderWatch, type FolderWatchOptions } from './folder-watch.ts';
export type { FolderHint, StartHint } from './folder-hint.ts';
