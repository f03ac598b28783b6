import type { Clock, Tool } from 'pith';
import { listFilesTool } from './list-files.ts';
import type { Project } from './project.ts';
import { readFileTool } from './read-file.ts';
import { searchFilesTool } from './search-files.ts';

export function readingTools(project: Project, clock: Clock): readonly Tool[] {
  return [readFileTool(project), listFilesTool(project), searchFilesTool(project, clock)];
}
