import { crc32 } from 'node:zlib';
import type { CountedDocument } from './ranker.ts';
import { TRAIL_LENGTH } from './trails.ts';

/** What a record says beside the counts. */
export interface RecordHead {
  readonly name: string;
  readonly tags: readonly string[];
  readonly lengths: readonly number[];
  readonly trail: Uint16Array;
}

const CRC_BYTES = 4;
/** Of one number of variable length. */
const MOST_BYTES = 5;

/** A document as `catalog.db` keeps it: checksum, name, tags and lengths as JSON, trail, and of each term its number and its packed counts. */
export function encodeRecord(
  { id, version, name, tags, lengths, trail, counts }: CountedDocument,
  numberOf: (term: string) => number,
): Uint8Array {
  const head = Buffer.from(JSON.stringify([name, tags, lengths]));
  const marks = Buffer.from(trail.buffer, trail.byteOffset, trail.byteLength);
  const bytes = Buffer.allocUnsafe(CRC_BYTES + head.length + marks.length + (3 + counts.size * 2) * MOST_BYTES);
  let at = CRC_BYTES;
  const number = (value: number): void => {
    let rest = value;
    while (rest > 0x7f) {
      bytes[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    bytes[at++] = rest;
  };
  for (const part of [head, marks]) {
    number(part.length);
    at += part.copy(bytes, at);
  }
  number(counts.size);
  for (const [term, packed] of counts) {
    number(numberOf(term));
    number(packed >>> 0);
  }
  bytes.writeUInt32LE(sumOf(id, version, bytes.subarray(CRC_BYTES, at)), 0);
  return bytes.subarray(0, at);
}

/** What was decoded, without an array for each of many records. */
export class Decoded {
  /** Of terms: number, packed counts, number, packed counts, …, one record after the other. */
  numbers = new Uint32Array(1 << 12);
  length = 0;
  /** Of the last record. */
  readonly trail = new Uint16Array(TRAIL_LENGTH);
  readonly trailBytes = new Uint8Array(this.trail.buffer); // in the machine's order of bytes: a data folder does not travel
}

/** Adds the numbers of terms to `decoded`, and gives the rest, with a trail that the next record overwrites. Throws where the bytes are not those that were written. */
export function decodeRecord({ id, version, record: bytes }: OwnRecord, decoded: Decoded): RecordHead {
  const content = bytes.subarray(CRC_BYTES);
  if (bytes.length < CRC_BYTES || new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true) !== sumOf(id, version, content))
    throw new Error('it is damaged');
  let at = 0;
  const number = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = content[at++]!;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  };
  const end = number() + at;
  const [name, tags, lengths] = JSON.parse(UTF8.decode(content.subarray(at, end))) as [string, string[], number[]];
  at = end;
  const marks = number();
  decoded.trailBytes.set(content.subarray(at, (at += marks)));
  const count = number();
  addNumbers(content, at, count * 2, decoded);
  return { name, tags, lengths, trail: decoded.trail };
}

/** A record, and whose it is. */
export interface OwnRecord {
  readonly id: string;
  readonly version: string;
  readonly record: Uint8Array;
}

/** Also over whose it is: the record of another skill is whole, too. */
function sumOf(id: string, version: string, content: Uint8Array): number {
  let sum = id.length;
  for (let at = 0; at < id.length; at++) sum = Math.imul(sum ^ id.charCodeAt(at), 0x01000193);
  for (let at = 0; at < version.length; at++) sum = Math.imul(sum ^ version.charCodeAt(at), 0x01000193);
  return (crc32(content) ^ sum) >>> 0;
}

const UTF8 = new TextDecoder();

/** Most of what a start does is this. */
function addNumbers(bytes: Uint8Array, from: number, count: number, decoded: Decoded): void {
  const end = decoded.length + count;
  if (end > decoded.numbers.length) {
    const grown = new Uint32Array(end * 2);
    grown.set(decoded.numbers);
    decoded.numbers = grown;
  }
  const { numbers } = decoded;
  let at = from;
  for (let to = decoded.length; to < end; to++) {
    let byte = bytes[at++]!;
    let value = byte & 0x7f;
    for (let shift = 7; byte > 0x7f; shift += 7) {
      byte = bytes[at++]!;
      value |= (byte & 0x7f) << shift;
    }
    numbers[to] = value >>> 0;
  }
  decoded.length = end;
}
