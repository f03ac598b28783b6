import fs from 'node:fs';
import { notTextAt } from '../../contract/not-text-at.ts';

/** The text of a UTF-8 file without its byte order mark. Throws as `readRegularFile`, and `RangeError` when it is not text. */
export function readTextFile(file: string, maxBytes: number): string {
  const bytes = readRegularFile(file, maxBytes);
  const at = notTextAt(bytes);
  if (at !== null) throw new RangeError(`is not UTF-8 text: byte ${at}`);
  return new TextDecoder().decode(bytes);
}

/** The bytes of a file, never waiting for a pipe or a device. Throws `ENOENT` and the like, and `RangeError` when it is too long or no regular file. */
export function readRegularFile(file: string, maxBytes: number): Buffer {
  const descriptor = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  try {
    const stat = fs.fstatSync(descriptor);
    if (!stat.isFile()) throw new RangeError(`is ${kindOf(stat)}, not a file`);
    if (stat.size > maxBytes) throw new RangeError(`has ${stat.size} bytes, more than the ${maxBytes} that are read`);
    return fs.readFileSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

export function kindOf(stat: fs.Stats | fs.BigIntStats): string {
  if (stat.isDirectory()) return 'a folder';
  if (stat.isFIFO()) return 'a pipe';
  return stat.isSocket() ? 'a socket' : 'a device';
}
