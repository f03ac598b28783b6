import { crc32 } from 'node:zlib';

/** A skill's vector as it is kept. */
export interface VectorRecord {
  readonly id: string;
  /** Of the document that the text was made of. */
  readonly version: string;
  /** Hex digest of model and text. */
  readonly key: string;
  readonly vector: Float32Array;
}

const HEAD = 8;
const KEY = 32;

/** Length, checksum, then id, version, key and numbers; little-endian. */
export function encodeRecord({ id, version, key, vector }: VectorRecord): Buffer {
  const [idBytes, versionBytes] = [Buffer.from(id), Buffer.from(version)];
  const size = 4 + idBytes.length + versionBytes.length + KEY + vector.length * 4;
  const record = Buffer.alloc(HEAD + size);
  let at = HEAD;
  for (const bytes of [idBytes, versionBytes]) {
    at = record.writeUInt16LE(bytes.length, at);
    at += bytes.copy(record, at);
  }
  at += record.write(key, at, 'hex');
  for (const value of vector) at = record.writeFloatLE(value, at);
  record.writeUInt32LE(size, 0);
  record.writeUInt32LE(crc32(record.subarray(HEAD)), 4);
  return record;
}

/** The record at `from` and where the next one begins; null where there is no whole one. */
export function decodeRecord(bytes: Buffer, from: number): { readonly record: VectorRecord; readonly next: number } | null {
  if (from + HEAD > bytes.length) return null;
  const next = from + HEAD + bytes.readUInt32LE(from);
  if (next > bytes.length) return null;
  const payload = bytes.subarray(from + HEAD, next);
  if (crc32(payload) !== bytes.readUInt32LE(from + 4)) return null;
  let at = 0;
  const text = (): string => {
    const begin = at + 2;
    at = begin + payload.readUInt16LE(at);
    return payload.toString('utf8', begin, at);
  };
  try {
    const [id, version] = [text(), text()];
    const key = payload.toString('hex', at, at + KEY);
    at += KEY;
    const vector = new Float32Array((payload.length - at) / 4);
    for (let index = 0; index < vector.length; index++) vector[index] = payload.readFloatLE(at + index * 4);
    return { record: { id, version, key, vector }, next };
  } catch {
    return null; // a checksum that fits what makes no sense
  }
}
