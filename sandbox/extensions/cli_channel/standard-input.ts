import { PithError, type Clock, type CommandIO } from 'pith';
import { untilAborted } from '@pith/promises';

/** What is piped in. */
export type Piped = NonNullable<NonNullable<CommandIO['shell']>['piped']>;

export interface Reading {
  readonly clock: Pick<Clock, 'after'>;
  readonly note: (line: string) => void;
}

const MOST_BYTES = 1024 * 1024;
/** How long to wait for a socket on which nothing may ever come. */
const SILENT_MS = 3_000;

/**
 * Reads what was piped in, at most 1 MB; '' where there is nothing. A pipe and a file are read to their end; a socket, which programs that
 * start others leave open, only when its first bytes come in time; `isAwaited` false: there is a message already, and nobody waits for a
 * silent input. Throws `usage` for what is not text.
 */
export async function readStandardInput(
  { bytes: input, mayBeIdle }: Piped,
  { clock, note }: Reading,
  isAwaited: boolean,
  signal: AbortSignal,
): Promise<string> {
  const silent = Symbol('silent');
  const chunks: Buffer[] = [];
  let size = 0;
  const iterator = input[Symbol.asyncIterator]();
  let cancel = (): void => undefined;
  const silence = new Promise<typeof silent>((resolve) => {
    if (isAwaited) return;
    cancel = clock.after(SILENT_MS, () => {
      if (mayBeIdle) resolve(silent);
      else note('waiting for the end of standard input; to send the message alone, add: </dev/null');
    });
  });
  try {
    while (size <= MOST_BYTES) {
      const next = await untilAborted(Promise.race([iterator.next(), silence]), signal);
      if (next === silent) {
        note('nothing came on standard input: only the message is sent');
        return '';
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
  const bytes = Buffer.concat(chunks);
  const isCut = size > MOST_BYTES;
  const text = decoded(bytes.subarray(0, MOST_BYTES), isCut);
  if (!isCut) return text.trim() === '' ? '' : text;
  void Promise.resolve(iterator.return?.()).catch(() => undefined); // whoever still writes need not go on
  note('standard input is longer than 1 MB: its beginning is sent, and the rest is left out');
  return `${text}\n[The rest of standard input was left out: it is longer than 1 MB.]`;
}

/** UTF-8, or UTF-16 with its mark. Throws `usage` for anything else. */
function decoded(bytes: Buffer, isCut: boolean): string {
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8';
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: isCut });
    if (!text.includes('\0')) return text;
  } catch {
    // reported below, as for text with NUL in it
  }
  throw new PithError('usage', 'standard input is not text in UTF-8', {
    cure: 'convert it first, such as with: iconv -f ISO-8859-1 -t UTF-8; of a binary file send its path',
  });
}
