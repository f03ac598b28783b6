import type { Duplex } from 'node:stream';

/** The largest message in either direction. */
export const MAX_FRAME_BYTES = 8 * 1024 * 1024;
/** The most bytes that may be queued in the kernel for a process that does not read. */
export const MAX_QUEUED_BYTES = 4 * MAX_FRAME_BYTES;
const HEADER_BYTES = 4;

/** The failures of a call itself. */
export type Refusal = 'aborted' | 'too_large' | 'no_parts';

/** Converts values and errors for the wire. */
export interface Codec {
  /** The limits of a value: its depth and its number of parts. */
  readonly deepest: number;
  readonly mostParts: number;
  /** `value` as plain JSON, at most `deepest` deep. Throws for a value that cannot be sent; `what` names it. */
  plain(value: unknown, what: string, deepest: number): unknown;
  /** An error as plain data, and back. Neither function throws. */
  errorToData(error: unknown): unknown;
  errorFromData(data: unknown): Error;
  refusal(code: Refusal, message: string, cause?: unknown): Error;
}

/** Messages over a socket: four bytes of length, little endian, then the value as JSON. */
export interface Frames {
  /** Throws `not_serialisable` for a value that cannot be sent or is too large; `what` names it. */
  send(message: unknown, what: string): void;
  close(): void;
}

export interface FramesOptions {
  readonly socket: Duplex;
  readonly codec: Codec;
  /** The most bytes that may be queued for a peer that does not read. */
  readonly maxQueuedBytes: number;
  received(message: unknown, bytes: number): void;
  /** Called once when nothing that follows can be decoded. `why` ends a sentence. `gone`: the other side hung up. */
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
      // Checks the length before any of the message is buffered.
      if (length > MAX_FRAME_BYTES) return fail(`it sent a message of ${megabytes(length)}, and ${megabytes(MAX_FRAME_BYTES)} may cross`);
      wanted = HEADER_BYTES + length;
      if (rest.length < wanted) break;
      let message: unknown;
      try {
        message = decode(rest.subarray(HEADER_BYTES, wanted), codec);
      } catch (error) {
        return fail(`it sent an invalid message: ${(error as Error).message}`);
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

/** The bytes are untrusted: their size is checked before they are parsed. */
function decode(bytes: Buffer, codec: Codec): unknown {
  checkBounds(bytes, codec);
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    throw new Error('it is not JSON'); // the parser's message repeats what was sent
  }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** The depth that the message and the shape of an answer add to a value. */
const ENVELOPE = 8;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Checks the depth and the number of parts of JSON before parsing it. The message's length already limits texts and names. Throws with a
 * message that ends a sentence. Leaves invalid JSON to the parser.
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
