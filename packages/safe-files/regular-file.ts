import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

/** Why a folder, a pipe, a socket or a device is not read. */
export const NO_REGULAR_FILE = 'it is not a regular file';

/**
 * The bytes of a regular file, without ever waiting for a pipe or a device. Rejects with the file system's error, or with why the file is
 * not read.
 */
export function readRegularFile(file: string, limit: number): Promise<Buffer> {
  return withRegularFile(file, async (handle, size) => {
    if (size > limit) throw new RangeError(`it is larger than ${limit} bytes`);
    return handle.readFile();
  });
}

/** As `readRegularFile`, with `use` as the reader. */
export async function withRegularFile<T>(file: string, use: (handle: FileHandle, size: number) => Promise<T>): Promise<T> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new RangeError(NO_REGULAR_FILE);
    return await use(handle, stats.size);
  } finally {
    await handle.close();
  }
}
