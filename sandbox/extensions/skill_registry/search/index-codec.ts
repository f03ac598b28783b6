import { createHash } from 'node:crypto';
import { hasCountOutsideBody, Posting } from './postings.ts';

/** One document as the file keeps it. */
export interface StoredDocument {
  readonly id: string;
  readonly version: string;
  readonly name: string;
  readonly tags: readonly string[];
  /** Terms of each field. */
  readonly lengths: readonly number[];
  /** Marks of its first terms, in the machine's order of bytes. */
  readonly trail: Uint16Array;
}

/** What a reader is told, in the order of the file. */
export interface IndexContents {
  document(document: StoredDocument): void;
  /** A number that no document has. */
  gap(): void;
  posting(term: string, posting: Posting, outsideBody: boolean): void;
}

/** Raise it whenever the form or what counts as a term changes. */
const FORMAT = 'pith skill search 3\n';
const DIGEST_BYTES = 32;
const PIECE_BYTES = 64 * 1024;

/**
 * The file in pieces: format, number of documents, a line of JSON and a trail each, number of terms, and of each term its bytes, the
 * distances between its documents and the counts in them, all numbers of variable length; at the end the digest of all that.
 */
export function* encodeIndex(documents: readonly (StoredDocument | null)[], postings: ReadonlyMap<string, Posting>): Generator<Uint8Array> {
  const hash = createHash('sha256');
  const writer = new Writer();
  const piece = () => {
    const bytes = writer.take();
    hash.update(bytes);
    return bytes;
  };
  writer.text(FORMAT);
  writer.number(documents.length);
  for (const one of documents) {
    writer.text(one === null ? '' : JSON.stringify([one.id, one.version, one.name, one.tags, one.lengths]));
    if (one !== null) writer.bytes(new Uint8Array(one.trail.buffer, one.trail.byteOffset, one.trail.byteLength));
    if (writer.length > PIECE_BYTES) yield piece();
  }
  const entries = [...postings];
  writer.number(entries.length);
  for (const [term, posting] of entries) {
    writer.text(term);
    encodePosting(writer, posting, documents.length);
    if (writer.length > PIECE_BYTES) yield piece();
  }
  yield piece();
  yield hash.digest();
}

/** Hands on what `encodeIndex` wrote, pausing between pieces. Throws where the bytes are of another format or damaged. */
export function* decodeIndex(bytes: Uint8Array, contents: IndexContents): Generator<void> {
  const end = bytes.length - DIGEST_BYTES;
  const reader = new Reader(bytes, end);
  if (end <= 0 || reader.text() !== FORMAT) throw new Error('it has another format');
  yield* verify(bytes, end);
  let paused = reader.at;
  for (let count = reader.number(); count > 0; count--) {
    const line = reader.text();
    if (line === '') contents.gap();
    else {
      const [id, version, name, tags, lengths] = JSON.parse(line) as [string, string, string, string[], number[]];
      contents.document({ id, version, name, tags, lengths, trail: new Uint16Array(Uint8Array.from(reader.bytes()).buffer) });
    }
    if (reader.at - paused > PIECE_BYTES) yield void (paused = reader.at);
  }
  for (let count = reader.number(); count > 0; count--) {
    decodePosting(reader, contents);
    if (reader.at - paused > PIECE_BYTES) yield void (paused = reader.at);
  }
}

function* verify(bytes: Uint8Array, end: number): Generator<void> {
  const hash = createHash('sha256');
  for (let at = 0; at < end; at += 16 * PIECE_BYTES) {
    hash.update(bytes.subarray(at, Math.min(end, at + 16 * PIECE_BYTES)));
    yield;
  }
  if (!hash.digest().equals(bytes.subarray(end))) throw new Error('it is damaged');
}

/** Documents from `before` on came while the file was being written, and belong into the next one. */
function encodePosting(writer: Writer, { entries, length }: Posting, before: number): void {
  let count = length;
  while (count > 0 && entries[(count - 1) * 2]! >= before) count--;
  writer.number(count);
  let last = 0;
  for (let at = 0; at < count; at++) {
    writer.number(entries[at * 2]! - last);
    writer.number(entries[at * 2 + 1]!);
    last = entries[at * 2]!;
  }
}

function decodePosting(reader: Reader, contents: IndexContents): void {
  const term = reader.text();
  const count = reader.number();
  const entries = new Uint32Array(Math.max(2, count * 2));
  let outsideBody = false;
  let document = 0;
  for (let at = 0; at < count; at++) {
    document += reader.number();
    const packed = reader.number();
    entries[at * 2] = document;
    entries[at * 2 + 1] = packed;
    outsideBody ||= hasCountOutsideBody(packed);
  }
  if (count > 0) contents.posting(term, new Posting(entries, count), outsideBody);
}

class Writer {
  #bytes = Buffer.allocUnsafe(PIECE_BYTES * 2);
  length = 0;

  number(value: number): void {
    this.#room(5);
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.length++] = rest;
  }

  text(value: string): void {
    const size = Buffer.byteLength(value);
    this.number(size);
    this.#room(size);
    this.length += this.#bytes.write(value, this.length);
  }

  bytes(value: Uint8Array): void {
    this.number(value.length);
    this.#room(value.length);
    this.#bytes.set(value, this.length);
    this.length += value.length;
  }

  /** What was written since the last time. */
  take(): Uint8Array {
    const taken = Uint8Array.prototype.slice.call(this.#bytes, 0, this.length);
    this.length = 0;
    return taken;
  }

  #room(size: number): void {
    if (this.length + size <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe((this.length + size) * 2);
    this.#bytes.copy(grown, 0, 0, this.length);
    this.#bytes = grown;
  }
}

class Reader {
  at = 0;
  readonly #bytes: Buffer;
  readonly #end: number;

  constructor(bytes: Uint8Array, end: number) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#end = end;
  }

  number(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#bytes[this.at++]!;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80 && this.at <= this.#end) return value >>> 0;
    }
    throw new Error('it is damaged');
  }

  text(): string {
    return this.bytes().toString();
  }

  bytes(): Buffer {
    const size = this.number();
    if (this.at + size > this.#end) throw new Error('it is damaged');
    this.at += size;
    return this.#bytes.subarray(this.at - size, this.at);
  }
}
