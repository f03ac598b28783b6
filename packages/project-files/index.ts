export { runGit, runGitAs } from './git.ts';
export { listFiles, type FileList } from './file-list.ts';
