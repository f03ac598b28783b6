import {
  defineTool,
  toolError,
  toolResult,
  z,
  type ApprovalQuestion,
  type Tool,
  type ToolCall,
  type ToolResult,
  type TurnInfo,
} from 'pith';
import { imageIn, imageTypeOf, MOST_IMAGE_BYTES } from '@pith/image-header';
import { binaryType, decodeText, isSecretFile, unlessRefused, FileRefused } from '@pith/safe-files';
import { BYTE_ORDER_MARK, linesOf, type Line } from '@pith/text-changes';
import { sha256 } from '@pith/plain-data';
import { refuseGuardedRead } from './guarded-files.ts';
import type { Project } from './project.ts';
import { slipsOf } from '@pith/plain-text';

const MOST_LINES = 2000;
const MOST_CHARACTERS = 60_000;
const LONGEST_LINE = 2000;
const LARGEST_TEXT = 16 * 1024 * 1024;

const input = z.object({
  path: z.string().describe('Relative to the project, such as "src/main.ts".'),
  from_line: z.int().min(1).default(1).describe('The first line to read.'),
  lines: z.int().min(1).max(MOST_LINES).default(MOST_LINES).describe('How many lines at most.'),
});

/** Reads a part of a text with line numbers, or an image as an image. */
export function readFileTool(project: Project): Tool {
  return defineTool({
    name: 'read_file',
    description:
      'Read a file of the project: text with line numbers (not part of the file), in parts where it is long, or an image. ' +
      'Read a file before you edit it. Files that may contain secrets need the approval of the person.',
    input,
    effect: 'read',
    permission: { authoring: 'anyone', safeToShare: true },
    needsApproval: ({ path }, turn) => unlessRefused(async () => (await questionFor(project, path, turn)) ?? false, false),
    execute: (call, about) => read(project, call, about),
    present: (result) => (result.ok ? (result.title ?? 'Read') : `Error: ${result.error.message}`),
  });
}

async function questionFor(project: Project, given: string, turn: TurnInfo): Promise<ApprovalQuestion | null> {
  const names = project.followed(given);
  const ways = [names, project.names(given)];
  for (const way of ways) await refuseGuardedRead(project, way, turn);
  if (!ways.some(isSecretFile)) return null;
  const path = names.join('/');
  return {
    summary: `read ${path}, which may contain secrets`,
    text: `The model and its provider would see all that is in ${path}.`,
    subject: `read ${sha256(path)}`,
    once: true,
  };
}

async function read(project: Project, call: z.infer<typeof input>, { approved, turn }: ToolCall): Promise<ToolResult> {
  const names = project.followed(call.path);
  const [asked, real] = [project.names(call.path).join('/'), names.join('/')];
  const path = asked === real ? real : `${asked} (a link to ${real})`;
  const question = await questionFor(project, call.path, turn);
  if (question !== null && question.subject !== approved)
    return toolError(
      'approval_needed',
      `'${path}' may contain secrets: only a person can let you read it; make the call again, so that they are asked`,
    );
  const file = project.jail.read(names, async (handle, size) => {
    if (size > LARGEST_TEXT)
      return toolError('file_too_large', `'${path}' has ${size} bytes; at most ${LARGEST_TEXT} are read: find the place with search_files`);
    const bytes = await handle.readFile();
    const type = binaryType(real);
    if (imageTypeOf(bytes) !== null) return imageOf(path, bytes);
    const text = decodeText(bytes);
    const found = type.startsWith('image/') ? imageIn(bytes) : null;
    const why = found !== null && 'why' in found ? `no image that can be shown: ${found.why}` : null;
    if (text === null)
      return toolError('file_binary', `'${path}' is binary (${type}, ${size} bytes), and ${why ?? 'not an image that can be shown'}`);
    return partOf(why === null || text === '' ? path : `${path} (${why})`, text, call);
  });
  return file.catch(async (error: unknown) => {
    throw await whyNotRead(project, names, error);
  });
}

/** Judged by its content, whatever its name says: servers refuse whole conversations for an invalid image. */
function imageOf(path: string, bytes: Buffer): ToolResult {
  const { length } = bytes;
  if (length > MOST_IMAGE_BYTES)
    return toolError('file_too_large', `'${path}' has ${length} bytes; images of at most ${MOST_IMAGE_BYTES} bytes are read`);
  const image = imageIn(bytes);
  if ('why' in image) return toolError('file_binary', `'${path}' is an image that cannot be shown: ${image.why}`);
  const { mediaType, width, height } = image;
  const images = [{ mediaType, data: bytes.toString('base64') }];
  return toolResult(`${path}: ${mediaType}, ${width} × ${height} pixels, ${length} bytes`, { title: `Read ${path} (image)`, images });
}

function partOf(path: string, text: string, { from_line: from, lines: most }: z.infer<typeof input>): ToolResult {
  if (text === '') return toolResult(`${path} is empty`, { title: `Read ${path} (empty)` });
  const lines = linesOf(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text);
  const all = lines.map((line) => line.text);
  if (from > all.length) return toolError('part_unknown', `'${path}' has ${all.length} lines; line ${from} was asked for`);
  const shown: string[] = [];
  let characters = 0;
  for (const [index, line] of all.slice(from - 1, from - 1 + most).entries()) {
    const cut = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}… (${line.length - LONGEST_LINE} more characters)` : line;
    characters += cut.length + 8;
    if (characters > MOST_CHARACTERS && shown.length > 0) break;
    shown.push(`${String(from + index).padStart(6)}\t${cut}`);
  }
  const last = from + shown.length - 1;
  const isWhole = from === 1 && last === all.length;
  const rest = last < all.length ? `\n… ${all.length - last} more lines: read from_line ${last + 1}` : '';
  const head = isWhole ? path : `${path}, lines ${from} to ${last} of ${all.length}`;
  return toolResult(`${head}${endsNote(lines)}\n${shown.join('\n')}${rest}`, {
    title: `Read ${path}${isWhole ? '' : ` (${from}–${last} of ${all.length})`}`,
  });
}

/** Which of the shown lines end with CR LF, which they do not show. */
function endsNote(lines: readonly Line[]): string {
  const returns = lines.filter(({ end }) => end === '\r\n').length;
  if (returns === 0) return '';
  if (lines.every(({ end }) => end !== '\n')) return ' (its lines end with CR LF)';
  return ` (${returns} of its ${lines.length} lines end with CR LF, the others with LF)`;
}

/** Why a file of the project cannot be read, in words that help; `refused` where they would reveal what is outside. */
async function whyNotRead(project: Project, names: readonly string[], refused: unknown): Promise<unknown> {
  if (!(refused instanceof FileRefused) || refused.code !== 'file_unavailable') return refused;
  const path = names.join('/');
  for (const [depth] of [...names, ''].entries()) {
    const found = await project.jail.stat(names.slice(0, depth));
    if (found?.type === 'other') return said(`'${path}' leads out of the project, or is not a plain file`);
    if (found === null) return said(await noFile(project, names));
    if (found.type === 'file' && depth < names.length)
      return said(`there is no file '${path}': '${names.slice(0, depth).join('/')}' is not a folder`);
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
