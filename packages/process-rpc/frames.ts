import type { Duplex } from 'node:stream';

/** The largest message that crosses, either way. */
export const MAX_FRAME_BYTES = 8 * 1024 * 1024;
/** What may wait in the kernel for a process that does not read. */
export const MAX_QUEUED_BYTES = 4 * MAX_FRAME_BYTES;
const HEADER_BYTES = 4;

/** What went wrong with a call by itself. */
export type Refusal = 'aborted' | 'too_large' | 'no_parts';

/** How values and errors of the user cross. */
export interface Codec {
  /** How deep a value may be, and how many parts it may have. */
  readonly deepest: number;
  readonly mostParts: number;
  /** `value` as plain JSON, at most `deepest` deep. Throws for what cannot cross; `what` names it. */
  plain(value: unknown, what: string, deepest: number): unknown;
  /** An error as plain data, and back. Neither throws. */
  errorToData(error: unknown): unknown;
  errorFromData(data: unknown): Error;
  refusal(code: Refusal, message: string, cause?: unknown): Error;
}

/** Messages over a socket: four bytes of length, little endian, then the value as JSON. */
export interface Frames {
  /** Throws `not_serialisable` for what cannot cross or is too large; `what` names it. */
  send(message: unknown, what: string): void;
  close(): void;
}

export interface FramesOptions {
  readonly socket: Duplex;
  readonly codec: Codec;
  /** What may wait for a reader that does not read. */
  readonly maxQueuedBytes: number;
  received(message: unknown, bytes: number): void;
  /** Called once, with words that end a sentence, when nothing that follows can be understood. `gone`: the other side hung up. */
  broken(why: string, gone: boolean): void;
}

export function openFrames({ socket, codec, maxQueuedBytes, received, broken }: FramesOptions): Frames {
  let chunks: Buffer[] = [];
  let size = 0;
  let wanted = HEADER_BYTES;
  let closed = false;

  const fail = (why: string, gone = false): void => {
    if (closed) return;
    close();
    broken(why, gone);
  };
  function close(): void {
    closed = true;
    chunks = [];
    socket.destroy();
  }
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    if (size < wanted || closed) return;
    let rest = chunks.length === 1 ? chunk : Buffer.concat(chunks, size);
    wanted = HEADER_BYTES;
    while (rest.length >= HEADER_BYTES) {
      const length = rest.readUInt32LE(0);
      // The length is seen before anything of that length is kept.
      if (length > MAX_FRAME_BYTES) return fail(`it sent a message of ${megabytes(length)}, and ${megabytes(MAX_FRAME_BYTES)} may cross`);
      wanted = HEADER_BYTES + length;
      if (rest.length < wanted) break;
      let message: unknown;
      try {
        message = decode(rest.subarray(HEADER_BYTES, wanted), codec);
      } catch (error) {
        return fail(`it sent what cannot be read: ${(error as Error).message}`);
      }
      rest = rest.subarray(wanted);
      wanted = HEADER_BYTES;
      received(message, length);
      if (closed) return;
    }
    chunks = rest.length === 0 ? [] : [rest];
    size = rest.length;
  });
  socket.on('error', (error) => fail(`its connection broke: ${error.message}`, true));
  socket.on('end', () => fail('it closed its connection', true));
  socket.on('close', () => fail('its connection was closed', true));

  return {
    send(message, what) {
      if (closed) return;
      const frame = encode(message, what, codec);
      socket.write(frame);
      if (socket.writableLength > maxQueuedBytes) fail('it does not read its messages');
    },
    close,
  };
}

function encode(message: unknown, what: string, codec: Codec): Buffer {
  const text = JSON.stringify(codec.plain(message, what, codec.deepest + ENVELOPE));
  const length = Buffer.byteLength(text);
  if (length > MAX_FRAME_BYTES) {
    throw codec.refusal('too_large', `${what} has ${megabytes(length)}, and ${megabytes(MAX_FRAME_BYTES)} may cross to another process`);
  }
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length);
  frame.writeUInt32LE(length, 0);
  frame.write(text, HEADER_BYTES);
  return frame;
}

/** Bytes of anybody: counted before anything is made of them. */
function decode(bytes: Buffer, codec: Codec): unknown {
  checkBounds(bytes, codec);
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    throw new Error('it is not JSON'); // the parser's own words repeat what was sent
  }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** What the message itself and the shape of an answer add to the depth of a value. */
const ENVELOPE = 8;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Counts what JSON would become before anything of it is made: how deep it is, and how many parts it has. The length of its texts and names
 * is bounded by that of the message. Throws in words that end a sentence. Whether it is JSON at all is for the parser to say.
 */
function checkBounds(json: Uint8Array, { deepest, mostParts }: Codec): void {
  let depth = 0;
  let parts = 1;
  for (let at = 0; at < json.length; at += 1) {
    switch (json[at]) {
      case QUOTE:
        for (at += 1; at < json.length && json[at] !== QUOTE; at += 1) if (json[at] === BACKSLASH) at += 1;
        break;
      case LIST:
      case OBJECT:
        depth += 1;
        parts += 1;
        break;
      case LIST_END:
      case OBJECT_END:
        depth -= 1;
        break;
      case COMMA:
        parts += 1;
        break;
    }
    if (depth > deepest + ENVELOPE) throw new Error(`it is deeper than ${deepest}`);
    if (parts > mostParts) throw new Error(`it has more than ${mostParts} parts`);
  }
}
