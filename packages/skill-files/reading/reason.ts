import { NO_REGULAR_FILE } from '@pith/safe-files';

/** The reason without the path, which the diagnostic names. */
export function reasonOf(error: unknown): string {
  if (error instanceof RangeError) return error.message;
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'EISDIR') return 'it is a folder';
  if (code === 'ELOOP') return 'it is a link that leads back to itself';
  if (code !== undefined && NO_BYTES.has(code)) return NO_REGULAR_FILE;
  return code ?? String(error);
}

/** The errors of reading at an offset of a pipe, or of opening a socket or an absent device. */
const NO_BYTES: ReadonlySet<string> = new Set(['ESPIPE', 'ENXIO', 'ENODEV']);
