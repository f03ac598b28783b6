import { PithError, type Clock, type CommandIO } from 'pith';
import { untilAborted } from '@pith/promises';

/** What was piped in. */
export interface PipedText {
  readonly text: string;
  /** There was more than is sent. */
  readonly isCut: boolean;
}

const MOST_BYTES = 1024 * 1024;
/** How long to wait for a socket on which nothing may ever come. */
const SILENT_MS = 3_000;

interface Reading {
  readonly clock: Pick<Clock, 'after'>;
  /** False: there is a message already, so that an input that nobody writes to is not waited for. */
  readonly waits: boolean;
  readonly note: (line: string) => void;
}

/**
 * Reads what was piped in, at most 1 MB; null where there is nothing. A pipe and a file are read to their end; a socket, which programs that
 * start others leave open, only when its first bytes come in time. Throws `usage` for what is no text.
 */
export async function readStandardInput(
  { bytes: input, mayStaySilent }: NonNullable<CommandIO['piped']>,
  { clock, waits, note }: Reading,
  signal: AbortSignal,
): Promise<PipedText | null> {
  const silent = Symbol('silent');
  const chunks: Buffer[] = [];
  let size = 0;
  const iterator = input[Symbol.asyncIterator]();
  let cancel = (): void => undefined;
  const silence = new Promise<typeof silent>((resolve) => {
    if (waits) return;
    cancel = clock.after(SILENT_MS, () => {
      if (mayStaySilent) resolve(silent);
      else note('waiting for the end of standard input; to send the message alone, add: </dev/null');
    });
  });
  try {
    while (size <= MOST_BYTES) {
      const next = await untilAborted(Promise.race([iterator.next(), silence]), signal);
      if (next === silent) {
        note('nothing came on standard input: only the message is sent');
        return null;
      }
      cancel();
      if (next.done === true) break;
      const chunk = Buffer.from(next.value);
      chunks.push(chunk);
      size += chunk.length;
    }
  } finally {
    cancel();
  }
  if (size > MOST_BYTES) void Promise.resolve(iterator.return?.()).catch(() => undefined); // whoever still writes need not go on
  const bytes = Buffer.concat(chunks);
  const text = decoded(size > MOST_BYTES ? bytes.subarray(0, characterEnd(bytes, MOST_BYTES)) : bytes);
  return text.trim() === '' ? null : { text, isCut: size > MOST_BYTES };
}

/** UTF-8, or UTF-16 with its mark. Throws `usage` for anything else. */
function decoded(bytes: Buffer): string {
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8';
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch {
    // reported below, as for text with NUL in it
  }
  throw new PithError('usage', 'standard input is not text in UTF-8', {
    cure: 'convert it first, such as with: iconv -f ISO-8859-1 -t UTF-8; of a binary file send its path',
  });
}

/** Where the last whole character of the first `most` bytes ends. */
function characterEnd(bytes: Buffer, most: number): number {
  let end = most;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return end;
}
