export { exclusively, exclusivelyNow, OneAtATime, type Exclusion } from './exclusive.ts';
export { FolderChanges, type Staged } from './folder-changes.ts';
export type { FolderChange } from './journaled.ts';
export { ChangeRefused, type Refusals } from './refused.ts';
