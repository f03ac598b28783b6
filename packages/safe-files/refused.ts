import { systemCure, systemReason } from './system-errors.ts';

/** Why a file is refused. The message may be shown to anybody: it has no path outside and no content. */
export class FileRefused extends Error {
  readonly retryable = false;

  constructor(
    readonly code: string,
    message: string,
    readonly cure?: string,
    readonly where?: string,
  ) {
    super(message);
  }
}

/** Another process has been changing the file for too long. */
export function fileBusy(where: string): FileRefused {
  return new FileRefused(
    'file_busy',
    `another Pith process does not release it; nothing was changed: try again`,
    'if no other Pith runs, remove that folder',
    where,
  );
}

/** One message for everything that cannot be used, so that an answer never reveals whether something exists outside. */
export function unavailable(path: string): FileRefused {
  return new FileRefused(
    'file_unavailable',
    `There is no usable file or folder '${path}' here (links, special files and outside paths are never used)`,
  );
}

export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? '';
}

/** Absent, a link, or of another kind than requested. */
export function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO', 'ENAMETOOLONG', 'EMLINK'].includes(codeOf(error));
}

/** Whether nothing exists there. Any other failure does not mean that the place is empty. */
export function isNothingThere(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error));
}

/** Whether the failure may pass: too few descriptors, too little memory, or a failing disk. */
export function isPassing(error: unknown): boolean {
  return isOfSystem(error, ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EIO', 'ESTALE']);
}

/** Whether this user may not do it. */
export function isForbidden(error: unknown): boolean {
  return isOfSystem(error, ['EACCES', 'EPERM']);
}

/** Whether it is the system's error, or a refusal of ours because of it. */
function isOfSystem(error: unknown, codes: readonly string[]): boolean {
  return codes.includes(codeOf(error)) || codes.includes(codeOf((error as Error | null)?.cause));
}

/** A file system's error as a refusal that names `path`: the system's message would show descriptors and absolute paths. Others unchanged. */
export function refusalOf(error: unknown, path: string): unknown {
  if (isAbsence(error)) return unavailable(path);
  const code = codeOf(error);
  if (!/^E[A-Z]+$/.test(code)) return error;
  const message = `'${path}' could not be used: ${systemReason(code)} (${code})`;
  return Object.assign(new FileRefused('file_failed', message, systemCure(error, `'${path}'`)), { cause: error });
}

/** Whether we refuse the file. The system's own failures are none of ours: what was to be found out there is not known. */
export function isRefusal(error: unknown): error is FileRefused {
  return error instanceof FileRefused && error.cause === undefined;
}

/** The result of `work`; `otherwise` where a file is refused for good. */
export async function unlessRefused<T, R>(work: () => T | Promise<T>, otherwise: R): Promise<T | R> {
  try {
    return await work();
  } catch (error) {
    if (isRefusal(error)) return otherwise;
    throw error;
  }
}
