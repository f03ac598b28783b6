import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** At most `limit` bytes of a regular file, never waiting for a pipe or a device. Rejects with what the file system says, or with why it is not read. */
export async function readBytes(file: string, limit: number): Promise<Uint8Array> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new RangeError('it is no regular file');
    const buffer = Buffer.alloc(Math.min(stats.size, limit));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
