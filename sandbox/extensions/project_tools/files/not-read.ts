import { slipsOf } from '@pith/plain-text';
import { FileRefused } from '@pith/safe-files';
import type { Project } from './project.ts';

/** Why a file of the project cannot be read, in words that help; `refused` where they would reveal what is outside. */
export async function whyNotRead(project: Project, names: readonly string[], refused: unknown): Promise<unknown> {
  if (!(refused instanceof FileRefused) || refused.code !== 'file_unavailable') return refused;
  const path = names.join('/');
  for (const [depth] of [...names, ''].entries()) {
    const found = await project.jail.stat(names.slice(0, depth));
    if (found?.type === 'other') return said(`'${path}' leads out of the project, or is no plain file`);
    if (found === null) return said(await noFile(project, names));
    if (found.type === 'file' && depth < names.length)
      return said(`there is no file '${path}': '${names.slice(0, depth).join('/')}' is no folder`);
    if (found.type === 'directory' && depth === names.length) return said(`'${path || '.'}' is a folder: use list_files`);
  }
  return refused;
}

function said(message: string): FileRefused {
  return new FileRefused('file_unavailable', message);
}

/** Letters, in the name of a file. */
const MOST_WRONG = 2;
const MOST_MEANT = 2;

/** Says that nothing is at this path, and which path was probably meant. */
export async function noFile(project: Project, names: readonly string[]): Promise<string> {
  const found = await Promise.all(names.map((_, index) => project.jail.stat(names.slice(0, index + 1))));
  return `there is no file '${names.join('/')}'${await meantBy(project, names, found.indexOf(null))}`;
}

/** Existing paths that differ in the name at `at` only. */
async function meantBy({ jail, visible }: Project, names: readonly string[], at: number): Promise<string> {
  const isVisible = visible();
  const beside = slipsOf(names[at] ?? '', await jail.names(names.slice(0, at)), MOST_WRONG).slice(0, MOST_MEANT);
  const paths = beside.map((name) => names.with(at, name)).filter(isVisible);
  const there = await Promise.all(paths.map(async (path) => ((await jail.stat(path))?.type === 'file' ? [`'${path.join('/')}'`] : [])));
  return there.flat().length === 0 ? '' : ` (did you mean ${there.flat().join(' or ')}?)`;
}
