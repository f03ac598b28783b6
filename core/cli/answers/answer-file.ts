import type { FileState, SeenFile } from '../../contract/protocols/command-provider.ts';

/** What a command line printed, and all that it was made from. */
export interface Answer {
  /** What was asked, and where from. */
  readonly key: string;
  readonly output: Buffer;
  readonly seen: readonly SeenFile[];
}

/** What is in a file of an answer. The many files that were simply there have their states side by side, not as objects. */
export interface StoredAnswer {
  readonly key: string;
  readonly output: Uint8Array;
  readonly paths: readonly string[];
  /** Four numbers for each of `paths`: mtimeMs, ctimeMs, size, inode. */
  readonly states: Float64Array;
  /** All else: what was absent, what counts as a link, what must lie where it lay. */
  readonly others: readonly SeenFile[];
}

/** Bytes of a file: eight 32-bit numbers, the states, and as text the paths, what was asked, `others` and the output. */
const FORMAT = 0x70697401;
const HEADER_BYTES = 32;

export function encodeAnswer({ key, output, seen }: Answer): Buffer {
  const plain = seen.filter(isPlain);
  const others = seen.filter((each) => !isPlain(each));
  const states = new Float64Array(plain.length * 4);
  plain.forEach(({ state }, at) => states.set(numbersOf(state), at * 4));
  const paths = plain.map(({ path }) => path).join('\0');
  const texts = [filled(paths), Buffer.from(key), Buffer.from(JSON.stringify(others)), output];
  const whole = filled(Buffer.concat([Buffer.alloc(HEADER_BYTES), Buffer.from(states.buffer), ...texts]));
  const lengths = [plain.length, ...texts.map(({ length }) => length)];
  [FORMAT, 0, ...lengths].forEach((value, at) => whole.writeUInt32LE(value, at * 4));
  whole.writeUInt32LE(checksumOf(whole, HEADER_BYTES + states.byteLength + lengths[1]!), 4);
  return whole;
}

/** null: it is of another format, torn or damaged. `bytes` must begin a buffer of their own. */
export function decodeAnswer(bytes: Buffer): StoredAnswer | null {
  if (bytes.length < HEADER_BYTES || bytes.length % 4 !== 0 || bytes.byteOffset % 8 !== 0) return null;
  const header = new Uint32Array(bytes.buffer, bytes.byteOffset, HEADER_BYTES / 4);
  const [format = 0, checksum = 0, count = 0, paths = 0, key = 0, others = 0, output = 0] = header;
  const pathsAt = HEADER_BYTES + count * 32;
  const keyAt = pathsAt + paths;
  const outputAt = keyAt + key + others;
  const end = outputAt + output;
  const fits = end <= bytes.length && bytes.length - end <= 3;
  if (format !== FORMAT || !fits || checksum !== checksumOf(bytes, keyAt)) return null;
  const text = (from: number, length: number) => bytes.toString('utf8', from, from + length);
  return {
    key: text(keyAt, key),
    states: new Float64Array(bytes.buffer, bytes.byteOffset + HEADER_BYTES, count * 4),
    others: JSON.parse(text(keyAt + key, others)) as SeenFile[],
    paths: count === 0 ? [] : text(pathsAt, paths).split('\0').slice(0, count),
    output: bytes.subarray(outputAt, end),
  };
}

/** Filled up to a whole number of 32-bit numbers; a further `\0` ends the last path. */
function filled(text: string | Buffer): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
}

function isPlain(seen: SeenFile): seen is SeenFile & { readonly state: FileState } {
  return seen.state !== null && seen.link !== true && seen.real === undefined && !seen.path.includes('\0');
}

function numbersOf({ mtimeMs, ctimeMs, size, ino }: FileState): readonly number[] {
  return [mtimeMs, ctimeMs, size, ino];
}

/**
 * Over the lengths and what stands behind the paths, four bytes at a time: hashes of `node:crypto` take longer to load. States and paths
 * need none: damaged ones are not those of any file.
 */
function checksumOf(bytes: Buffer, from: number): number {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
  let sum = words.length;
  for (let at = 2; at < HEADER_BYTES / 4; at += 1) sum = Math.imul(sum ^ words[at]!, 0x01000193);
  for (let at = from >> 2; at < words.length; at += 1) sum = (Math.imul(sum ^ words[at]!, 0x01000193) + (sum >>> 15)) | 0;
  return sum >>> 0;
}
