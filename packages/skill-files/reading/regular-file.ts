import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** The bytes of a regular file, never waiting for a pipe or a device. Rejects with what the file system says, or with why it is not read. */
export async function readRegularFile(file: string, limit: number): Promise<Buffer> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new RangeError('it is no regular file');
    if (stats.size > limit) throw new RangeError(`it is larger than ${limit} bytes`);
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

/** What went wrong, without the path, which the diagnostic names. */
export function reasonOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'EISDIR') return 'it is a folder';
  return code ?? String(error);
}
