import { printableLine, withCure } from '@pith/plain-text';
import { systemCure } from '@pith/safe-files';
import { messageOf, type PithError } from '../../contract/index.ts';

/** Exit codes. A process that a signal ended has 128 plus the signal's number, as in a shell. */
export const EXIT = { done: 0, failed: 1, usage: 2, hungUp: 129, interrupted: 130, terminated: 143 } as const;

/** `pith: <what> <where>: <why>; <cure>`, for anything thrown. */
export function describeError(error: unknown): string {
  const message = messageOf(error).trim().replace(/\.$/u, '');
  if (!(error instanceof Error)) return `pith: ${message}`;
  const { where, cure = cureOf(error) } = error as Partial<PithError>;
  return `pith: ${withCure(withWhere(message, where), cure)}`;
}

/** The exit code of anything thrown: wrong use is 2, all else 1. */
export function exitCodeOf(error: unknown): number {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'usage' || code === 'command_unknown' ? EXIT.usage : EXIT.failed;
}

/** For failures without a cure of their own: what the system lacks. */
function cureOf(error: unknown): string | undefined {
  for (let each = error; each instanceof Error; each = each.cause)
    if (LACKS.has((each as NodeJS.ErrnoException).code ?? '')) return printableLine(systemCure(each) ?? '');
  return undefined;
}

const LACKS: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'ENOMEM']);

function withWhere(message: string, found: string | undefined): string {
  const where = found === undefined ? '' : printableLine(found); // names of files and folders, which may be anything
  if (where === '' || message.includes(where)) return message;
  if (/^(?:is|has|holds|cannot|must|leads) /u.test(message)) return `${where}: ${message}`; // the place is the sentence's subject
  const colon = message.indexOf(': ');
  return colon < 0 ? `${where}: ${message}` : `${message.slice(0, colon)} ${where}${message.slice(colon)}`;
}
