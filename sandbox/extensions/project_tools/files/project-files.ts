import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { listFiles } from '@pith/project-files';
import { isSecretFile } from '@pith/safe-files';
import type { Project } from './project.ts';

/** Files of the project that tools may look through. */
export interface ProjectFiles {
  /** Names from the project down, joined by `/`; sorted. */
  readonly paths: readonly string[];
  /** Files left out because they may contain secrets. */
  readonly secret: number;
  /** Said where there are more files than are looked at: what is not found may be there all the same. */
  readonly cut: string | null;
}

const MOST_FILES = 300_000;
const MOST_WALKED = 100_000;
/** Files that are looked at before others have their turn. */
const AT_ONCE = 5000;

/** Files at and below a place in the project, without state, settings and secrets. */
export async function filesOf(project: Project, below: readonly string[], signal: AbortSignal): Promise<ProjectFiles> {
  const { paths, isCut } = await listFiles(project.jail, { below, most: MOST_FILES, mostWalked: MOST_WALKED }, signal);
  const isVisible = project.visible();
  const open: string[] = [];
  let secret = 0;
  for (const [index, file] of paths.entries()) {
    const names = file.split('/');
    if (!isVisible(names)) continue;
    if (isSecretFile(names)) secret += 1;
    else open.push(file);
    if (index % AT_ONCE === AT_ONCE - 1) await yieldToOthers();
  }
  const cut = isCut ? `only the first ${paths.length} files were looked at: name a folder in path to look at others` : null;
  return { paths: open, secret, cut };
}
