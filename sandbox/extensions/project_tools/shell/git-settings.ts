import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { runGit } from '@pith/project-files';

/** One setting of git, as in its file. */
export interface GitSetting {
  /** In git's own listing form: section and name in lower case. */
  readonly key: string;
  readonly value: string;
  readonly file: string;
}

/** The settings in a file. None of them is applied, and included files are not read. */
export async function listedSettings(file: string, signal: AbortSignal): Promise<readonly GitSetting[]> {
  if (plainText(file) === '') return [];
  const listed = await runGit('/', ['config', '--file', file, '--no-includes', '--list', '-z'], signal);
  return (listed ?? '').split('\0').flatMap((entry) => {
    const [key = '', value = ''] = entry.split(/\n([^]*)/u);
    return key === '' ? [] : [{ key, value, file }];
  });
}

const LONGEST_READ = 1024 * 1024;
const TOO_LARGE = '\0too large to be read: ';

/** For a text from `plainText`: the file is longer, and only its size and time are known. */
export function isTooLarge(text: string): boolean {
  return text.startsWith(TOO_LARGE);
}

/**
 * The content of a small file, byte for byte; '' where there is none. Does not wait for a pipe, since a command may have put anything
 * there.
 */
export function plainText(file: string): string {
  try {
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(descriptor);
      if (!stats.isFile()) return '';
      return stats.size > LONGEST_READ ? `${TOO_LARGE}${stats.size} ${stats.ino} ${stats.ctimeMs}` : readFileSync(descriptor, 'latin1');
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return ''; // it is gone, or not readable: git cannot read it either
  }
}

/** The same as text, without the line end: a path may contain any character. */
export function textOf(file: string): string {
  return Buffer.from(plainText(file), 'latin1').toString().trim();
}

/** False for a setting that names a program, a file or another repository, and for every unknown one. */
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
