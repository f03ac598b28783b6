export { runGit, runGitAs } from './git.ts';
export { listFiles } from './file-list.ts';
