import { lstat, readdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { printableLine, someOf } from '@pith/plain-text';
import { isForbidden, isInside } from '@pith/safe-files';
import { fileDigest, hashed } from './autorun-digests.ts';
import { kindOf, namedBy } from './git-guard.ts';
import { isHarmless, isTooLarge, listedSettings, plainText } from './git-settings.ts';

/** A digest of settings and hooks: of whatever git, Mercurial or Jujutsu would start from there. */
export async function repositoryDigest(place: string): Promise<string> {
  const folder = (await repositoryFolder(place)) ?? place;
  const parts: string[] = [folder];
  for (const name of SETTINGS) parts.push(name, settingsIn(folder, name));
  for (const name of await hooksOf(folder)) parts.push(name, (await fileDigest(path.join(folder, 'hooks', name))) ?? '');
  parts.push(...rebaseOf(folder));
  if (path.basename(place) === '.git')
    for (const file of namedBySettings(folder, path.dirname(place))) parts.push(file, (await fileDigest(file)) ?? '');
  return hashed(parts);
}

/** Files below the working tree that settings name: such a program may be missing now, and appear later. */
function namedBySettings(folder: string, tree: string): readonly string[] {
  const values = ['config', 'config.worktree'].flatMap((name) => plainText(path.join(folder, name)).match(/(?<==).+$/gmu) ?? []);
  const names = values.flatMap((value) => value.split(/[\s"'!;|&()]+/u)).filter((word) => /[/.]/u.test(word) && !word.startsWith('~'));
  const files = names.slice(0, MOST_WORDS).map((word) => path.resolve(tree, word));
  return files.filter((file) => isInside(file, tree) && kindOf(file) === 'file');
}

const MOST_WORDS = 1000;

/** '' where it is absent, or is a `commondir` that names its own folder. */
function settingsIn(folder: string, name: string): string {
  const text = plainText(path.join(folder, name));
  return name === 'commondir' && text.trim() === '.' ? '' : text;
}

const SETTINGS = [
  'config',
  'config.worktree',
  'commondir',
  'hgrc',
  'hgrc-not-shared',
  'sharedpath',
  'repo/config.toml',
  'repo/store/git_target',
  'repo/store/git/config',
  'workspace-config.toml',
];

async function repositoryFolder(place: string): Promise<string | null> {
  const stats = await lstat(place).catch(() => null);
  if (stats?.isFile() === true) return namedBy(place);
  return stats === null ? null : realpath(place).catch(() => null); // a link may lead anywhere
}

async function hooksOf(folder: string): Promise<readonly string[]> {
  const names = await readdir(path.join(folder, 'hooks')).catch((error: unknown) => (isForbidden(error) ? HOOKS : []));
  const found = await Promise.all(
    names.map(async (name) => ((await lstat(path.join(folder, 'hooks', name)).catch(() => null)) ? [name] : [])),
  );
  return found
    .flat()
    .filter((name) => !name.endsWith('.sample'))
    .sort();
}

const HOOKS = (
  'applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout ' +
  'post-merge pre-push post-rewrite pre-auto-gc reference-transaction post-index-change fsmonitor-watchman sendemail-validate'
).split(' ');

/** What a stopped rebase runs when it continues. */
function rebaseOf(folder: string): readonly string[] {
  const todo = plainText(path.join(folder, 'rebase-merge', 'git-rebase-todo'));
  if (isTooLarge(todo)) return [todo];
  return todo.split('\n').filter((line) => /^\s*(?:x|exec)\s/u.test(line));
}

const MOST_STARTED = 8;
const MOST_FIRST = 30;

export async function startsOf(place: string, signal: AbortSignal): Promise<string | null> {
  const folder = await repositoryFolder(place);
  if (folder === null) return null;
  const common = settingsIn(folder, 'commondir').trim() || '.';
  const files = ['config', 'config.worktree', ...(common === '.' ? [] : [path.join(common, 'config')])];
  const settings = (await Promise.all(files.map((name) => listedSettings(path.resolve(folder, name), signal)))).flat();
  const harmful = settings.filter(({ key, value }) => !isHarmless(key, value));
  const last = harmful.filter(({ key }, at) => !key.startsWith('core.') || !harmful.slice(at + 1).some((later) => later.key === key));
  const all = [
    ...files
      .filter((name) => isTooLarge(plainText(path.resolve(folder, name))))
      .map((name) => `what ${name} says, which is too large to be read`),
    ...last.map(({ key, value }) => `${key}=${value}`),
    ...(common === '.' ? [] : [`commondir=${common}`]),
    ...(await hooksOf(folder)).map((name) => `the hook ${name}`),
    ...rebaseOf(folder).map(
      (line) => `at \`git rebase --continue\`: ${isTooLarge(line) ? 'a list that is too large to be read' : line.trim()}`,
    ),
    ...otherSettings(folder),
  ];
  if (all.length === 0) return null;
  const first = all.filter((each) => BY_ITSELF.test(each)).sort((a, b) => Number(HOOK.test(a)) - Number(HOOK.test(b)));
  const rest = all.filter((each) => !BY_ITSELF.test(each));
  const shown = [...first, ...rest].map((each) => shortened(each));
  return someOf(shown, Math.max(MOST_STARTED, Math.min(first.length, MOST_FIRST)));
}

const HOOK = /^the hook /u;
/** Settings that `git status` or a commit suffices to trigger: named first, however many others there are. */
const BY_ITSELF =
  /^(?:core\.(?:fsmonitor|hookspath|pager|editor|sshcommand)=|the hook |commondir=|what |at `git rebase|include(?:if\..*)?\.path=)/u;

/** The start and the end, since many blanks could hide the rest. */
function shortened(text: string): string {
  const line = printableLine(text.replaceAll(/[\s\u115f\u1160\u2800\u3164\uffa0]+/gu, ' '));
  const left = line.length - LONGEST_SHOWN;
  return left <= 0 ? line : `${line.slice(0, LONGEST_SHOWN / 2)} … ${left} characters … ${line.slice(-LONGEST_SHOWN / 2)}`;
}

const LONGEST_SHOWN = 160;

/** In Mercurial and Jujutsu nearly every setting may name a program. */
function otherSettings(folder: string): readonly string[] {
  return SETTINGS.slice(3).flatMap((name) => (settingsIn(folder, name) === '' ? [] : [`what ${name} says`]));
}
