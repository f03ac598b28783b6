import { codeOf, toolError, type ToolResult } from 'pith';
import { FileRefused, systemReason } from '@pith/safe-files';

/** What a tool answers for anything that an operation on files throws. An abort is thrown on. */
export function refusalOf(error: unknown, path: string, signal: AbortSignal): ToolResult {
  signal.throwIfAborted();
  if (error instanceof FileRefused) return toolError(error.code, error.message);
  const code = codeOf(error, '');
  if (/^E[A-Z]+$/u.test(code)) return toolError('file_failed', `'${path}' could not be used: ${systemReason(code)} (${code})`);
  throw error;
}
