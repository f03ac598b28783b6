/** Why a file is not used. Its message is for a model too: no path outside, no content. */
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

/** One text for all that cannot be used, so that an answer never tells whether something exists outside. */
export function unavailable(path: string): FileRefused {
  return new FileRefused(
    'file_unavailable',
    `There is no usable file or folder '${path}' in the sandbox (links, special files and outside paths are never used)`,
  );
}

export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? '';
}

/** Absent, a link, or not of the kind that was asked for. */
export function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO', 'ENAMETOOLONG', 'EMLINK'].includes(codeOf(error));
}
