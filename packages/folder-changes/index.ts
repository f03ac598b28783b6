export { exclusively, exclusivelyNow, type Exclusion } from './exclusive.ts';
export { OneAtATime } from './exclusive.ts';
export { FolderChanges, type FolderChangesOptions, type Staged } from './folder-changes.ts';
export type { FolderChange } from './journaled.ts';
export type { EntriesFile } from './entries.ts';
export { ChangeRefused, type Refusals, type Words } from './refused.ts';
