import { FileRefused, NO_REGULAR_FILE } from '@pith/safe-files';

export const MOVED = 'it was moved meanwhile';

/** The reason without the path, which the diagnostic names. */
export function reasonOf(error: unknown): string {
  if (error instanceof RangeError) return error.message;
  if (error instanceof FileRefused && error.cause !== undefined) return reasonOf(error.cause);
  if (error instanceof FileRefused) return error.code === 'file_unavailable' ? MOVED : error.message;
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'EISDIR') return 'it is a folder';
  if (code === 'ELOOP') return 'it is a link that leads back to itself';
  if (code !== undefined && NO_BYTES.has(code)) return NO_REGULAR_FILE;
  return code ?? String(error);
}

/** The errors of reading at an offset of a pipe, or of opening a socket or an absent device. */
const NO_BYTES: ReadonlySet<string> = new Set(['ESPIPE', 'ENXIO', 'ENODEV']);
