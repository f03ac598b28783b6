import { counted } from '@pith/plain-text';
import { isSecretFile } from '@pith/safe-files';
import { globMatcher } from '@pith/patterns';
import { defineTool, messageOf, toolError, toolResult, z, type Tool, type ToolResult } from 'pith';
import type { Project } from './project.ts';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { listFiles } from '@pith/project-files';

const MOST_SHOWN = 500;
const LONGEST_GLOB = 500;

const input = z.object({
  glob: z
    .string()
    .min(1)
    .max(LONGEST_GLOB)
    .default('**')
    .describe('Such as "src/**/*.ts"; a pattern without a slash is looked for in every folder.'),
  path: z.string().default('.').describe('The folder to look in, relative to the project.'),
});

/** Lists files by name, without those that git ignores. */
export function listFilesTool(project: Project): Tool {
  return defineTool({
    name: 'list_files',
    description: 'List files of the project by a glob. Ignored and secret files are left out.',
    input,
    effect: 'read',
    permission: { authoring: 'anyone', safeToShare: true },
    execute: (call, { signal }) => list(project, call, signal),
    present: (result) => (result.ok ? (result.title ?? 'Listed') : `Error: ${result.error.message}`),
  });
}

async function list(project: Project, { glob, path }: z.infer<typeof input>, signal: AbortSignal): Promise<ToolResult> {
  const below = project.followed(path);
  if (below.length > 0 && (await project.jail.stat(below)) === null)
    return toolError('file_unavailable', `there is no folder '${path}' in the project`);
  const isWanted = globOrReason(glob);
  if (typeof isWanted === 'string') return toolError('pattern_invalid', isWanted);
  const found = await filesOf(project, below, signal);
  const base = below.length === 0 ? '' : `${below.join('/')}/`;
  const paths = found.paths.filter((file) => isWanted(file.startsWith(base) ? file.slice(base.length) : file));
  const notes = [
    paths.length > MOST_SHOWN ? `… ${paths.length - MOST_SHOWN} more: use a narrower glob` : null,
    found.cut,
    found.unread,
    found.secret > 0 ? `${found.secret} left out that may contain secrets` : null,
  ].filter((note) => note !== null);
  const text = [...paths.slice(0, MOST_SHOWN), ...(paths.length === 0 ? [`no file matches '${glob}'`] : []), ...notes].join('\n');
  return toolResult(text, { title: `Found ${counted(paths.length, 'file')} (${glob})` });
}

/** The matcher, or why there is none. */
export function globOrReason(glob: string): ((path: string) => boolean) | string {
  try {
    return globMatcher(glob);
  } catch (error) {
    return `'${glob}' is not a glob that can be used: ${messageOf(error)}`;
  }
}

/** Files of the project that tools may search. */
interface ProjectFiles {
  /** Paths relative to the project, joined by `/`; sorted. */
  readonly paths: readonly string[];
  /** The number of files left out because they may contain secrets. */
  readonly secret: number;
  /** The notice where the limit was reached: a file that is not found may exist; null: it was not. */
  readonly cut: string | null;
  /** The notice of folders and rules that could not be read; null: there are none. */
  readonly unread: string | null;
}

const MOST_FILES = 300_000;
const MOST_WALKED = 100_000;
/** How many unreadable places are named. */
const MOST_NAMED = 5;
/** How many files are examined before the walk yields. */
const AT_ONCE = 5000;

/** Files at and below a place in the project, without state, settings and secrets. */
export async function filesOf(project: Project, below: readonly string[], signal: AbortSignal): Promise<ProjectFiles> {
  const { paths, isCut, unread } = await listFiles(project.jail, { below, most: MOST_FILES, mostWalked: MOST_WALKED }, signal);
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
  const cut = isCut ? `only the first ${paths.length} files were searched: name a folder in path to search others` : null;
  return { paths: open, secret, cut, unread: unreadNotice(unread.filter((place) => isVisible(place.split('/')))) };
}

function unreadNotice(unread: readonly string[]): string | null {
  if (unread.length === 0) return null;
  const more = unread.length > MOST_NAMED ? ` and ${unread.length - MOST_NAMED} more` : '';
  return `left out, since the system does not let them be read: ${unread.slice(0, MOST_NAMED).join(', ')}${more}`;
}
