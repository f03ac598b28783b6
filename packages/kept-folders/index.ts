export { KeptFolders, type Kept, type KeptFoldersOptions } from './kept-folders.ts';
