import fs from 'node:fs';

/** The text of a UTF-8 file without its byte order mark. Throws `ENOENT` and the like, and `RangeError` when it is too long or not text. */
export function readTextFile(file: string, maxBytes: number): string {
  const { size } = fs.statSync(file);
  if (size > maxBytes) throw new RangeError(`has ${size} bytes, more than the ${maxBytes} that are read`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(fs.readFileSync(file));
  } catch (error) {
    if (error instanceof TypeError) throw new RangeError('is not UTF-8 text', { cause: error });
    throw error;
  }
}
