import { codeOf, toolError, type ToolResult } from 'pith';
import { FileRefused, systemReason } from '@pith/safe-files';

/** What a tool answers for anything thrown by a file operation. An abort is thrown on. */
export function refusalOf(error: unknown, path: string, signal: AbortSignal): ToolResult {
  signal.throwIfAborted();
  if (error instanceof FileRefused) return toolError(error.code, error.message);
  const code = codeOf(error, '');
  // The system's own message names descriptors and absolute paths.
  if (/^E[A-Z]+$/.test(code)) return toolError('file_failed', `'${path}' could not be used: ${systemReason(code)} (${code})`);
  throw error;
}
