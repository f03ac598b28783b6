/** Why a file is not used. Its message may be shown to anybody: no path outside, no content. */
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

/** For a file that another process has been changing for too long. */
export function fileBusy(where: string): FileRefused {
  return new FileRefused(
    'file_busy',
    `another Pith does not let go of it; nothing was changed: try again`,
    'if no other Pith runs, remove that folder',
    where,
  );
}

/** One text for all that cannot be used, so that an answer never tells whether something exists outside. */
export function unavailable(path: string): FileRefused {
  return new FileRefused(
    'file_unavailable',
    `There is no usable file or folder '${path}' here (links, special files and outside paths are never used)`,
  );
}

export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? '';
}

/** Absent, a link, or not of the kind that was asked for. */
export function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO', 'ENAMETOOLONG', 'EMLINK'].includes(codeOf(error));
}

/** Whether nothing lies there. Any other failure to look says nothing of what does: it is not read as empty. */
export function isNothingThere(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error));
}

/** Whether the system could not look just now, for want of descriptors or memory, or for a failing disk. */
export function isPassing(error: unknown): boolean {
  return ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EIO', 'ESTALE'].includes(codeOf(error));
}

/** What `work` answers, or `refuse` where a file was refused, by us or by the system: `path` names it. All else is thrown on, an abort first. */
export async function answerOrRefusal<T, R>(
  work: () => Promise<T>,
  path: string,
  refuse: (code: string, message: string) => R,
  signal: AbortSignal,
): Promise<T | R> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    const code = codeOf(error);
    if (error instanceof FileRefused) return refuse(code, error.message);
    if (!/^E[A-Z]+$/.test(code)) throw error;
    return refuse('file_failed', `'${path}' could not be used: ${systemReason(code)} (${code})`);
  }
}

/** What `work` answers; `otherwise` where a file was refused. */
export async function unlessRefused<T, R>(work: () => T | Promise<T>, otherwise: R): Promise<T | R> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FileRefused) return otherwise;
    throw error;
  }
}

/** Why the system refused a file, by its error code: its own message names descriptors and absolute paths. */
export function systemReason(code: string): string {
  return REASONS.get(code) ?? 'the system refused it';
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
