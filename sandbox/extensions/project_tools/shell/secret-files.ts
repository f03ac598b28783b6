import path from 'node:path';
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import type { CoveredPath } from '@pith/supervised-process';
import { FileRefused, isBelow, isInside, isSecretFile, isSkillCase, realPathOf } from '@pith/safe-files';
import { isSettingsFile, type Project } from '../files/project.ts';
import { isBare, OF_OTHERS, walk, type FolderSearch, type Seen } from './project-walk.ts';

/** What must be known of the project before a command sees it. All paths are absolute. */
export interface ProjectSecrets {
  /** Files that may contain secrets, and the cases of skills; of links, their targets. */
  readonly files: readonly string[];
  /** Each `.git`: a folder, or a file that names one. Also the `.hg` and `.jj` of other programs. */
  readonly repositories: readonly string[];
  /** Folders that git takes for bare repositories. */
  readonly bare: readonly string[];
  /** Folders that may not be listed: their content is hidden. */
  readonly unlisted: readonly string[];
  /** Folders that were not searched, because there are more files than `mostChecked`: their content is hidden. */
  readonly unchecked: readonly string[];
}

const REPOSITORY = /^\.(?:git|hg|jj)$/u;

/** How many files are checked. */
export const SETTING = 'extensions.project_tools.shell.files_checked';
/** The most folders that are hidden one by one; of more, their parents are hidden. */
const MOST_UNCHECKED = 50;

/** Finds secrets during a walk through a project. */
export class SecretSearch implements FolderSearch {
  readonly isStrict = true;
  readonly #files = new Set<string>();
  readonly #repositories: string[] = [];
  readonly #bare: string[] = [];
  readonly #unlisted: string[] = [];
  readonly #left: (readonly string[])[] = [];
  #looked = 0;

  constructor(
    private readonly root: string,
    private readonly mostChecked: number,
    private readonly isUnasked = false,
  ) {}

  enters(names: readonly string[]): boolean {
    const name = names.at(-1) ?? '';
    if (name === '.git' || (OF_OTHERS.has(name) && !this.isUnasked)) return false;
    const isLeft = this.#looked > this.mostChecked;
    if (isLeft) this.#left.push(names);
    return !isLeft;
  }

  see(names: readonly string[], entries: readonly Seen[], isListed: boolean): void {
    this.#looked += entries.length;
    const folder = path.join(this.root, ...names);
    if (!isListed && isReached(folder)) this.#unlisted.push(folder);
    if (isBare(entries)) this.#bare.push(names.length > 0 ? folder : path.join(folder, 'config'));
    for (const { name, type } of entries) {
      const isRepository = REPOSITORY.test(name);
      if (type === 'directory' && !isRepository) continue;
      const each = [...names, name];
      if (isRepository) this.#repositories.push(realPathOf(path.join(this.root, ...each)));
      else if (isSecretFile(each) || isSkillCase(this.root, each)) this.#files.add(realPathOf(path.join(this.root, ...each)));
    }
  }

  /** Throws `file_unavailable` where the root itself has too many files. */
  found(): ProjectSecrets {
    return {
      files: [...this.#files],
      repositories: this.#repositories.filter((at) => isInside(at, this.root)),
      bare: this.#bare,
      unlisted: this.#unlisted,
      unchecked: few(this.#left, this.mostChecked).map((names) => path.join(this.root, ...names)),
    };
  }
}

/** Whether a command could use the folder's content, or make it usable. */
function isReached(folder: string): boolean {
  try {
    if (statSync(folder).uid === process.getuid?.()) return true;
    accessSync(folder, constants.X_OK);
    return true;
  } catch {
    return false; // it is gone, or belongs to another user
  }
}

/** For a command that runs without a question. Throws as `SecretSearch.found`. */
export async function secretsOf(
  project: Pick<Project, 'jail' | 'root'>,
  mostChecked: number,
  signal: AbortSignal,
): Promise<ProjectSecrets> {
  const search = new SecretSearch(project.root, mostChecked, true);
  await walk(project, [search], signal);
  return search.found();
}

/** As few folders as can be hidden that contain all of these. */
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

/** What is hidden from a command that runs without a question: the same as from tools that read files. */
export function hiddenFromReadOnly(
  { root, sandbox, data }: Project,
  { files, repositories, bare, unlisted, unchecked }: ProjectSecrets,
  usesGit: boolean,
): readonly CoveredPath[] {
  const names = existsSync(sandbox) ? readdirSync(sandbox) : [];
  const settings = names.filter(isSettingsFile).map((name) => path.join(sandbox, name));
  const hidden = [
    data(),
    path.join(sandbox, 'data'),
    ...settings,
    ...files,
    ...unlisted,
    ...unchecked,
    ...(usesGit ? [] : [...repositories, ...bare]),
  ];
  return [...new Set(hidden)].filter((at) => isBelow(at, root) && existsSync(at)).map((at): CoveredPath => ({ at, as: 'empty' }));
}
