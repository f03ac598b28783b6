import { counted } from '@pith/plain-text';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { effortOf } from '@pith/patterns';
import type { RE2JS } from 're2js';
import { defineTool, messageOf, toolError, toolResult, z, type Clock, type Tool, type ToolResult } from 'pith';
import { runGit } from '@pith/project-files';
import { decodeText } from '@pith/safe-files';
import { globOrReason, filesOf } from './list-files.ts';
import type { Project } from './project.ts';

const MOST_MATCHES = 200;
const MOST_FILE_BYTES = 2 * 1024 * 1024;
const LONGEST_PATTERN = 1000;
const LONGEST_LINE = 300;
/** The most instructions of a pattern: each costs time at each letter. */
const LARGEST_PATTERN = 500;
/** The most letters of a line, and the letters between two yields, each times the pattern's instructions. */
const MOST_OF_LINE = 10_000_000;
const AT_ONCE = 1_000_000;
const MOST_MS = 10_000;

const input = z.object({
  pattern: z.string().min(1).max(LONGEST_PATTERN).describe('A regular expression in RE2 syntax: no look-around, no back-references.'),
  glob: z.string().max(500).optional().describe('Only files that match, such as "*.ts".'),
  path: z.string().default('.').describe('The folder or file to search, relative to the project.'),
  ignore_case: z.boolean().default(false),
  context: z.int().min(0).max(5).default(0).describe('Lines to show around each match.'),
});

/** Searches with a regular expression, in linear time, over the files that git would list. */
export function searchFilesTool(project: Project, clock: Clock): Tool {
  return defineTool({
    name: 'search_files',
    description: 'Search the text of the project’s files line by line: `path:line: text`. Ignored, binary and secret files are left out.',
    input,
    effect: 'read',
    permission: { authoring: 'anyone', safeToShare: true },
    timeoutMs: 30_000,
    execute: (call, { signal }) => search({ project, clock }, call, signal),
    present: (result) => (result.ok ? (result.title ?? 'Searched') : `Error: ${result.error.message}`),
  });
}

async function search(
  { project, clock }: { readonly project: Project; readonly clock: Clock },
  call: z.infer<typeof input>,
  signal: AbortSignal,
): Promise<ToolResult> {
  let pattern: RE2JS;
  const effort = effortOf(call.pattern);
  if (effort > LARGEST_PATTERN)
    return toolError('pattern_invalid', `'${call.pattern}' is too large: repeat less often, or search for a part of it`);
  const { RE2JS } = await import('re2js');
  try {
    pattern = RE2JS.compile(call.pattern, call.ignore_case ? RE2JS.CASE_INSENSITIVE : 0);
  } catch (error) {
    return toolError('pattern_invalid', `'${call.pattern}' is not a regular expression that can be used: ${messageOf(error)}`);
  }
  const below = project.followed(call.path);
  if (below.length > 0 && (await project.jail.stat(below)) === null)
    return toolError('file_unavailable', `there is no file or folder '${call.path}' in the project`);
  const isWanted = call.glob === undefined ? () => true : globOrReason(call.glob);
  if (typeof isWanted === 'string') return toolError('pattern_invalid', isWanted);
  const found = await filesOf(project, below, signal);
  const holding = await filesHolding(project, call, signal);
  const base = below.length === 0 ? '' : `${below.join('/')}/`;
  const paths = found.paths.filter(
    (file) => isWanted(file.startsWith(base) ? file.slice(base.length) : file) && (holding === null || holding.has(file)),
  );
  const matches: string[] = [];
  const end = clock.now() + MOST_MS;
  const isLate = () => clock.now() > end;
  let files = 0;
  let longLines = 0;
  const tooLong = () => void (longLines += 1);
  let skipped = 0;
  let searched = 0;
  for (const file of paths) {
    if (matches.length >= MOST_MATCHES || isLate()) break;
    signal.throwIfAborted();
    searched += 1;
    const text = await textOf(project, file);
    if (text === null) skipped += 1;
    const lines =
      text === null
        ? []
        : await matchingLines(
            text,
            { pattern, effort, context: call.context, most: MOST_MATCHES - matches.length, isLate, tooLong },
            signal,
          );
    if (lines.length > 0) files += 1;
    matches.push(...lines.map((line) => `${file}:${line}`));
  }
  const left = paths.length - searched;
  const notes = [
    matches.length === 0 ? `nothing matches '${call.pattern}'${left > 0 ? ` in the first ${searched} files` : ''}` : null,
    left > 0
      ? `… ${left} files were not searched: ${isLate() ? 'it took too long' : `there are more than ${MOST_MATCHES} matches`}; narrow it by glob or path`
      : null,
    left === 0 && isLate() ? '… the last file was not searched to its end: it took too long; narrow it by glob or path' : null,
    found.cut,
    found.unread,
    skipped > 0 ? `${skipped} files left out that are binary, very large or cannot be read` : null,
    longLines > 0 ? `${longLines} very long lines left out: search for less in them` : null,
    found.secret > 0 ? `${found.secret} files left out that may contain secrets` : null,
  ].filter((note) => note !== null);
  return toolResult([...matches, ...notes].join('\n'), {
    title: `Searched for ${call.pattern.slice(0, 60)}: ${matches.length === 0 ? 'nothing' : `${counted(matches.length, 'line')} in ${counted(files, 'file')}`}`,
  });
}

/** Files in which git finds a text that every match must contain; null: git cannot tell, or there is no such text. */
async function filesHolding(
  project: Project,
  { pattern, ignore_case: ignoreCase }: z.infer<typeof input>,
  signal: AbortSignal,
): Promise<ReadonlySet<string> | null> {
  const literal = literalOf(pattern);
  if (literal === null) return null;
  const args = ['-lzaF', ...(ignoreCase ? ['-i'] : []), '-e', literal];
  const lists = await Promise.all([
    runGit(project.root, ['grep', ...args], signal),
    runGit(project.root, ['grep', '--untracked', ...args], signal),
  ]);
  return lists.includes(null) ? null : new Set(lists.flatMap((list) => list?.split('\0') ?? []));
}

const SHORTEST_LITERAL = 3;

/** The longest literal word of every match; null where it is not obvious: alternatives, classes, groups, escapes. */
export function literalOf(pattern: string): string | null {
  if (/[|[\](){}]|\\[^bBsSdDwW.]/u.test(pattern)) return null;
  const words = pattern.replaceAll(/\\./gu, ' ').matchAll(/(\w+)([*?]?)/gu);
  const sure = [...words].map(([, word = '', optional]) => (optional === '' ? word : word.slice(0, -1)));
  const longest = sure.reduce((best, word) => (word.length > best.length ? word : best), '');
  return longest.length >= SHORTEST_LITERAL ? longest : null;
}

async function textOf({ jail }: Project, file: string): Promise<string | null> {
  try {
    return await jail.read(file.split('/'), async (handle, size) => (size > MOST_FILE_BYTES ? null : decodeText(await handle.readFile())));
  } catch {
    return null; // removed meanwhile, or a link: it counts as left out
  }
}

interface Wanted {
  readonly pattern: RE2JS;
  readonly effort: number;
  readonly context: number;
  readonly most: number;
  isLate(): boolean;
  /** A line is not searched. */
  tooLong(): void;
}

async function matchingLines(
  text: string,
  { pattern, effort, context, most, isLate, tooLong }: Wanted,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const lines = text.split(/\r?\n/u);
  const shown: string[] = [];
  let last = -1;
  let spent = 0;
  for (const [index, line] of lines.entries()) {
    const cost = line.length * effort;
    if (cost > MOST_OF_LINE) tooLong();
    if ((spent += cost) > AT_ONCE) {
      spent = 0;
      await yieldToOthers(undefined, { signal });
      if (isLate()) break;
    }
    if (cost > MOST_OF_LINE || !pattern.matcher(line).find()) continue;
    for (let at = Math.max(last + 1, index - context); at <= Math.min(lines.length - 1, index + context); at += 1) {
      shown.push(`${at + 1}${at === index ? ':' : '-'} ${shortened(lines[at] ?? '')}`);
      last = at;
    }
    if (shown.length >= most) return shown.slice(0, most);
  }
  return shown;
}

function shortened(line: string): string {
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line;
}
