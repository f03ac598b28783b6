import { listFiles } from '@pith/project-files';
import { isSecretFile } from '@pith/safe-files';
import type { Project } from './project.ts';

/** Files of the project that tools may look through. */
export interface ProjectFiles {
  /** Names from the project down, joined by `/`; sorted. */
  readonly paths: readonly string[];
  /** Files left out because they may contain secrets. */
  readonly secret: number;
  /** There are more files than are looked at. */
  readonly isCut: boolean;
}

const MOST_FILES = 50_000;

/** Files at and below a place in the project, without state, settings and secrets. */
export async function filesOf(project: Project, below: readonly string[], signal: AbortSignal): Promise<ProjectFiles> {
  const { paths, isCut } = await listFiles(project.jail, { below, most: MOST_FILES }, signal);
  const visible = paths.filter((file) => project.isVisible(file.split('/')));
  const open = visible.filter((file) => !isSecretFile(file.split('/')));
  return { paths: open, secret: visible.length - open.length, isCut };
}
