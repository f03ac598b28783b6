import { diffLines } from 'diff';
import type { ApprovalQuestion } from 'pith';
import { decodeText, FileRefused } from '@pith/safe-files';
import { BYTE_ORDER_MARK, difference, withLineEndsOf } from '@pith/text-changes';
import { sha256 } from '@pith/plain-data';
import type { Project } from '../files/project.ts';

/** One file before and after a change. */
export interface TextChange {
  readonly names: readonly string[];
  /** null: it is new. */
  readonly before: Buffer | null;
  readonly after: Buffer;
}

const MOST_BYTES = 2 * 1024 * 1024;
/** A comparison that takes longer is not counted. */
const COMPARE_MS = 300;

/** The text of a file to change; null: there is none. */
export async function textBefore(
  project: Project,
  names: readonly string[],
): Promise<{ readonly bytes: Buffer; readonly text: string } | null> {
  const path = names.join('/');
  const entry = await project.jail.stat(names);
  if (entry === null) return null;
  return project.jail.read(names, async (handle, size) => {
    if (size > MOST_BYTES) throw new FileRefused('file_too_large', `'${path}' has ${size} bytes; at most ${MOST_BYTES} are changed`);
    const bytes = await handle.readFile();
    const text = decodeText(bytes);
    if (text === null)
      throw new FileRefused('file_binary', `'${path}' is not text in UTF-8, so nobody could read the change; nothing was changed`);
    return { bytes, text };
  });
}

/** A whole text with the byte order mark and the line ends of the former one. */
export function inStyleOf(former: string | null, text: string): Buffer {
  return former === null ? bounded(text) : bounded(withLineEndsOf(former, withMarkOf(former, text)));
}

/** An edited text, whose line ends are as they shall be, with the byte order mark of the former one. */
export function editedBytes(former: string, text: string): Buffer {
  return bounded(withMarkOf(former, text));
}

function withMarkOf(former: string, text: string): string {
  return former.startsWith(BYTE_ORDER_MARK) && !text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK + text : text;
}

function bounded(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length <= MOST_BYTES) return bytes;
  throw new FileRefused('file_too_large', `the file would have ${bytes.length} bytes; at most ${MOST_BYTES} are written`);
}

/** The question before a change. An approval covers exactly these bytes, before and after. */
export function changeQuestion(project: Project, { names, before, after }: TextChange): ApprovalQuestion {
  const path = names.join('/');
  const why = project.changeGuard(names);
  const [old, next] = [before?.toString() ?? '', after.toString()];
  const text = `${why === null ? '' : `${path} ${why}.\n`}${difference(path, before === null ? null : old, next).trimEnd()}`;
  return {
    summary: `${before === null ? 'create' : 'change'} ${path} (${countOf(old, next)})`,
    text,
    subject: sha256([path, before === null ? 'new' : sha256(before), sha256(after)].join('\n')),
    ...(why === null ? { always: { key: 'write:.', covers: 'ordinary files of this project' } } : { once: true }),
  };
}

/** Throws for a call whose question differs from the approved one. */
export function requireApproved(question: ApprovalQuestion, approved: string | undefined): void {
  if (question.subject === approved) return;
  const why = approved === undefined ? 'it needs the approval of a person' : 'the file has changed since a person agreed to it';
  throw new FileRefused('approval_needed', `Nothing was changed: ${why}; read the file and make the call again, so that they are asked`);
}

/** `+3 −1`, or the number of lines of a new file. */
export function countOf(old: string, next: string): string {
  if (old === '') return lineCount(next) === 1 ? '1 line' : `${lineCount(next)} lines`;
  const parts = diffLines(old, next, { timeout: COMPARE_MS });
  if (parts === undefined) return 'many lines';
  const count = (which: 'added' | 'removed') => parts.reduce((sum, part) => sum + (part[which] ? part.count : 0), 0);
  return `+${count('added')} −${count('removed')}`;
}

function lineCount(text: string): number {
  return text === '' ? 0 : text.replace(/\n$/u, '').split('\n').length;
}
