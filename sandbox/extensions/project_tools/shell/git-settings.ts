import { existsSync } from 'node:fs';
import { runGit } from '@pith/project-files';

/** One setting of git, as its file has it. */
export interface GitSetting {
  /** In the form in which git lists it: section and name in small letters. */
  readonly key: string;
  readonly value: string;
  readonly file: string;
}

/** What a file of settings contains. Nothing of it is used, and nothing that it includes is read. */
export async function listedSettings(file: string, signal: AbortSignal): Promise<readonly GitSetting[]> {
  if (!existsSync(file)) return [];
  const listed = await runGit('/', ['config', '--file', file, '--no-includes', '--list', '-z'], signal);
  return (listed ?? '').split('\0').flatMap((entry) => {
    const [key = '', value = ''] = entry.split(/\n([^]*)/u);
    return key === '' ? [] : [{ key, value, file }];
  });
}

/** False for a setting that names a program, a file or another repository, and for every one that is not known. */
export function isHarmless(key: string, value: string): boolean {
  if (URLS.test(key)) return !/^-|::|^ext:/u.test(value);
  return HARMLESS.test(key);
}

const URLS = /^(?:remote|submodule)\..+\.(?:push)?url$/u;
const HARMLESS = new RegExp(
  `^(?:${[
    'core\\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|quotepath|abbrev|compression|' +
      'longpaths|sparsecheckout|sparsecheckoutcone|protecthfs|protectntfs|untrackedcache|preloadindex|commitgraph|multipackindex|whitespace|trustctime|checkstat)',
    'extensions\\.(?:objectformat|refstorage|worktreeconfig|partialclone|noop)',
    'remote\\..+\\.(?:fetch|push|prune|prunetags|tagopt|mirror|promisor|partialclonefilter|skipdefaultupdate|skipfetchall)',
    'branch\\..+\\.(?:remote|merge|rebase|pushremote|description|vscode-merge-base|github-pr-owner-number)',
    'branch\\.(?:autosetupmerge|autosetuprebase|sort)',
    'submodule\\..+\\.(?:active|path|branch|ignore|shallow|fetchrecursesubmodules)',
    'submodule\\.(?:active|recurse)',
    'user\\.(?:name|email|signingkey|useconfigonly)',
    '(?:author|committer)\\.(?:name|email)',
    '(?:color|column|advice|gc|pack|index|fetch|pull|push|rebase|status|init|commit|tag|merge|log|rerere|maintenance|feature|transfer|repack|checkout|clone|stash)\\.' +
      '(?!template|.*(?:path|command|program|editor|driver|hook|dir)$)[\\w.-]+',
  ].join('|')})$`,
  'u',
);
