export { FolderWatch, type FolderWatchOptions } from './folder-watch.ts';
export type { FolderHint } from './folder-hint.ts';
