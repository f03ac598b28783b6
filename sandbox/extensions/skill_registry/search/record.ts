import { crc32 } from 'node:zlib';
import type { CountedDocument } from './ranker.ts';

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
export function encodeRecord({ name, tags, lengths, trail, counts }: CountedDocument, numberOf: (term: string) => number): Uint8Array {
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
  bytes.writeUInt32LE(crc32(bytes.subarray(CRC_BYTES, at)), 0);
  return bytes.subarray(0, at);
}

/** Tells each term's number and counts, then the rest. Throws where the bytes are not those that were written. */
export function decodeRecord(record: Uint8Array, entry: (term: number, packed: number) => void): RecordHead {
  const bytes = Buffer.from(record.buffer, record.byteOffset, record.byteLength);
  if (bytes.length < CRC_BYTES || bytes.readUInt32LE(0) !== crc32(bytes.subarray(CRC_BYTES))) throw new Error('it is damaged');
  let at = CRC_BYTES;
  const number = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++]!;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  };
  const part = (): Buffer => {
    const length = number();
    at += length;
    return bytes.subarray(at - length, at);
  };
  const [name, tags, lengths] = JSON.parse(part().toString()) as [string, string[], number[]];
  const trail = new Uint16Array(Uint8Array.from(part()).buffer); // in the machine's order of bytes: a data folder does not travel
  for (let count = number(); count > 0; count--) {
    const term = number();
    entry(term, number());
  }
  return { name, tags, lengths, trail };
}
