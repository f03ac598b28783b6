import { codeOf, toolError, type ToolResult } from 'pith';
import { FileRefused } from '@pith/safe-files';

/** What a tool answers for anything thrown by a file operation. An abort is thrown on. */
export function refusalOf(error: unknown, path: string, signal: AbortSignal): ToolResult {
  signal.throwIfAborted();
  if (error instanceof FileRefused) return toolError(error.code, error.message);
  const code = codeOf(error, '');
  const reason = REASONS.get(code);
  // The system's own message names descriptors and absolute paths.
  if (/^E[A-Z]+$/.test(code))
    return toolError('file_failed', `'${path}' could not be used: ${reason ?? 'the system refused it'} (${code})`);
  throw error;
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'permission denied'],
  ['EPERM', 'permission denied'],
  ['ENOSPC', 'no space is left on the disk'],
  ['EDQUOT', 'the disk quota is used up'],
  ['EROFS', 'the disk is read-only'],
  ['EMFILE', 'too many files are open'],
  ['EIO', 'the disk failed'],
]);
