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
  const codes = [codeOf(error), codeOf((error as Error | null)?.cause)];
  return codes.some((code) => ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EIO', 'ESTALE'].includes(code));
}

/** A file system's error as a refusal that names `path`: the system's message would show descriptors and absolute paths. Others unchanged. */
export function refusalOf(error: unknown, path: string): unknown {
  if (isAbsence(error)) return unavailable(path);
  const code = codeOf(error);
  if (!/^E[A-Z]+$/.test(code)) return error;
  const message = `'${path}' could not be used: ${systemReason(code)} (${code})`;
  return Object.assign(new FileRefused('file_failed', message, systemCure(error, `'${path}'`)), { cause: error });
}

/** The result of `work`; `otherwise` where a file was refused. */
export async function unlessRefused<T, R>(work: () => T | Promise<T>, otherwise: R): Promise<T | R> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FileRefused) return otherwise;
    throw error;
  }
}
