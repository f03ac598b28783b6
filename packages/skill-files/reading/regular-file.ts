import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Why a folder, a pipe, a socket or a device is not read. */
export const NO_REGULAR_FILE = 'it is not a regular file';

/** The bytes of a regular file, without waiting for a pipe or a device. Rejects with the file system's error, or with our reason. */
export async function readRegularFile(file: string, limit: number): Promise<Buffer> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new RangeError(NO_REGULAR_FILE);
    if (stats.size > limit) throw new RangeError(`it is larger than ${limit} bytes`);
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

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
