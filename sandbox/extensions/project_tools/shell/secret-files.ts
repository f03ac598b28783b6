import path from 'node:path';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { CoveredPath } from '@pith/held-process';
import { runGit } from '@pith/project-files';
import { FileRefused, isBelow, isInside, isSecretFile } from '@pith/safe-files';
import { isSettingsFile, type Project } from '../files/project.ts';

/** What of the project must be known before a command sees it. Absolute, as all here. */
export interface ProjectSecrets {
  /** Files that may contain secrets; of links, what they lead to. */
  readonly files: readonly string[];
  /** Each `.git`: a folder, or a file that names one. */
  readonly repositories: readonly string[];
  /** Folders that were not looked through, because there are more files than `mostChecked`: what lies in them is not shown. */
  readonly unchecked: readonly string[];
}

/** How many files are looked at. */
export const SETTING = 'extensions.project_tools.shell.files_checked';
/** The most folders that are hidden one by one; of more, those above them are hidden. */
const MOST_UNCHECKED = 50;
const NOT_ENTERED: ReadonlySet<string> = new Set(['node_modules', '.hg', '.svn', '.venv']);
/** Names that are looked at before others have their turn. */
const AT_ONCE = 5000;

/** Folders near the root come first. Throws `file_unavailable` where there are too many files in the root itself. */
export async function secretsOf({ jail, root }: Project, mostChecked: number, signal: AbortSignal): Promise<ProjectSecrets> {
  const files = new Set<string>();
  const repositories: string[] = [];
  const folders: (readonly string[])[] = [[]];
  let looked = 0;
  let pause = AT_ONCE;
  let next = 0;
  for (; next < folders.length && looked <= mostChecked; next += 1) {
    signal.throwIfAborted();
    const names = folders[next] ?? [];
    const entries = await jail.kinds(names).catch(noneIfUnreadable);
    looked += entries.length;
    for (const { name, type } of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const each = [...names, name];
      const place = () => realOf(path.join(root, ...each));
      if (name === '.git') repositories.push(place());
      else if (type === 'directory' && !NOT_ENTERED.has(name)) folders.push(each);
      else if (type !== 'directory' && isSecretFile(each)) files.add(place());
    }
    if (looked > pause) {
      pause = looked + AT_ONCE;
      await yieldToOthers();
    }
  }
  return {
    files: [...files],
    repositories: repositories.filter((at) => isInside(at, root)),
    unchecked: few(folders.slice(next), mostChecked).map((names) => path.join(root, ...names)),
  };
}

/** A folder that is gone, is a link by now, or that a command cannot read either. What fails for another reason may hold secrets. */
function noneIfUnreadable(error: unknown): readonly [] {
  if (error instanceof FileRefused || ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
  throw error;
}

/** As few folders as can be hidden, which hold all of these. */
function few(left: readonly (readonly string[])[], mostChecked: number): readonly (readonly string[])[] {
  let depth = Math.max(0, ...left.map((names) => names.length));
  let found = new Map(left.map((names) => [names.join('/'), names]));
  for (; found.size > MOST_UNCHECKED; depth -= 1)
    found = new Map([...found.values()].map((names) => names.slice(0, depth)).map((names) => [names.join('/'), names]));
  if (!found.has('')) return [...found.values()];
  throw new FileRefused(
    'file_unavailable',
    `the command was not run: the project has more than ${mostChecked} files, too many to look for those with secrets; raise ${SETTING} in the settings, or start Pith in a folder of the project`,
  );
}

/** Whether git keeps a file that may contain secrets: commands do not see it, but its content in git. Where git cannot say, it may. */
export async function tracksSecrets({ root }: Project): Promise<boolean> {
  const listed = await runGit(root, ['ls-files', '-z', '--cached'], new AbortController().signal);
  return listed === null || listed.split('\0').some((file) => file !== '' && isSecretFile(file.split('/')));
}

/** What a command that runs unasked does not see: what tools that read files do not read either. */
export function hiddenFromReaders(
  { root, sandbox, data }: Project,
  { files, repositories, unchecked }: ProjectSecrets,
  usesGit: boolean,
): readonly CoveredPath[] {
  const names = existsSync(sandbox) ? readdirSync(sandbox) : [];
  const settings = names.filter(isSettingsFile).map((name) => path.join(sandbox, name));
  const hidden = [data(), path.join(sandbox, 'data'), ...settings, ...files, ...unchecked, ...(usesGit ? [] : repositories)];
  return [...new Set(hidden)].filter((at) => isBelow(at, root) && existsSync(at)).map((at): CoveredPath => ({ at, as: 'empty' }));
}

export function realOf(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    return file; // it is not there, or a link leads nowhere
  }
}
