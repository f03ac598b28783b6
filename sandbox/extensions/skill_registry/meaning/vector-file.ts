import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { type Clock, type Logger, messageOf } from 'pith';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import { exclusively } from '../exclusive.ts';

/** Files of other models that are kept, for who changes back. */
const OTHER_MODELS = 2;
/** Far above what thousands of skills need. */
const SIZE_LIMIT = 512 * 1024 * 1024;
const RECORDS_AT_ONCE = 500;
/** Records that no longer count, before the file is rewritten. */
const MOST_DEAD = 500;
const MARK = 'pith-vectors 1';
const HEAD = /^pith-vectors 1 "(?:[^"\\\n]|\\.)*"\n/;
const LONGEST_HEAD = 4096;

export interface VectorFileOptions {
  readonly folder: StateFolder;
  readonly model: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The vectors of one model from one process to the next: a log of records, the last of an id counts. Several processes add to it, one at a
 * time; what stands in the file is what they all know. May be deleted at any time.
 */
export class VectorFile {
  readonly file: string;
  readonly #options: VectorFileOptions;
  readonly #name: string;
  readonly #head: Buffer;
  /** Ids that were read or added here: of others it is not known that they are dead. */
  readonly #known = new Set<string>();
  #records = 0;
  /** Of the file that was last read or written; '' while there is none whose end is whole. */
  #inode = '';
  #failed = false;

  constructor(options: VectorFileOptions) {
    this.#options = options;
    this.#name = `${createHash('sha256').update(options.model).digest('hex').slice(0, 16)}.vectors`;
    this.file = path.join(options.folder.path, this.#name);
    this.#head = Buffer.from(`${MARK} ${JSON.stringify(options.model)}\n`);
  }

  /** What was kept, by id. Where the file is damaged, what stands before that, and the rest is asked for again. Never rejects. */
  async load(): Promise<Map<string, VectorRecord>> {
    try {
      const inode = this.#inodeNow();
      if (inode === '') return new Map();
      const { found, records, whole } = await this.#read();
      for (const id of found.keys()) this.#known.add(id);
      this.#records = records;
      if (whole) this.#inode = inode;
      if (!whole) this.#warn(`the file of vectors ${this.file} is damaged: ${found.size} vectors can be used, the rest is rebuilt`);
      if (!whole) await this.append([], found);
      return found;
    } catch (error) {
      this.#warn(`the vectors in ${this.file} cannot be read and are rebuilt: ${messageOf(error)}`);
      return new Map();
    }
  }

  /** Adds records to what `live` says of all. Never rejects: what cannot be kept is asked for again by the next process. */
  async append(records: readonly VectorRecord[], live: ReadonlyMap<string, VectorRecord>): Promise<void> {
    try {
      await alone(this.#options.folder, this.#name, this.#options.clock, async () => {
        const inode = this.#inodeNow();
        if (inode === '' || inode !== this.#inode || this.#records + records.length > 2 * live.size + MOST_DEAD)
          return this.#rewrite(records, live);
        this.#options.folder.append(this.#name, Buffer.concat(records.map(encodeRecord)));
        this.#records += records.length;
      });
      for (const { id } of records) this.#known.add(id);
      this.#failed = false;
    } catch (error) {
      if (!this.#failed) this.#warn(`vectors cannot be kept in ${this.file}: ${messageOf(error)}; the next start asks for them again`);
      this.#failed = true;
      this.#inode = ''; // its end may be torn
    }
  }

  /** What others wrote stays; where the file was lost or is damaged, all that is known here takes the place of what it held. */
  async #rewrite(records: readonly VectorRecord[], live: ReadonlyMap<string, VectorRecord>): Promise<void> {
    const lost = { found: new Map<string, VectorRecord>(), records: 0, whole: false };
    const { found, whole } = await this.#read().catch(() => lost);
    for (const id of found.keys()) if (this.#known.has(id) && !live.has(id)) found.delete(id);
    if (!whole) for (const [id, record] of live) if (!found.has(id)) found.set(id, record);
    for (const record of records) found.set(record.id, record);
    if (this.#inode === '') await this.#tidy();
    await write(this.#options.folder, this.#name, this.#head, found.values());
    this.#inode = this.#inodeNow();
    this.#records = found.size;
  }

  async #read(): Promise<Read> {
    const bytes = this.#options.folder.read(this.#name, SIZE_LIMIT) ?? Buffer.alloc(0);
    const ours = bytes.subarray(0, this.#head.length).equals(this.#head);
    return ours ? recordsIn(bytes, this.#head.length) : { found: new Map(), records: 0, whole: false };
  }

  /** Room for this model's file: only the newest of other models stay. */
  async #tidy(): Promise<void> {
    const { folder } = this.#options;
    const files = await Promise.all(
      namesIn(folder).map(async (name) => ({ name, at: (await stat(path.join(folder.path, name))).mtimeMs })),
    );
    const others = files.filter(({ name }) => name !== this.#name).sort((a, b) => b.at - a.at);
    for (const { name } of others.slice(OTHER_MODELS)) folder.remove(name);
  }

  /** '' where there is none. */
  #inodeNow(): string {
    return this.#options.folder.stamp(this.#name).split(' ').slice(0, 2).join(' ');
  }

  #warn(message: string): void {
    this.#options.logger.warn(message);
  }
}

/** Removes what the files of all models hold of some skills, or of all, also what no longer counts. A process that runs does not bring it back. */
export async function forgetVectorsIn(
  { dataDirectory, clock }: { readonly dataDirectory: string; readonly clock: Clock },
  ids: ReadonlySet<string> | null,
): Promise<void> {
  const folder = vectorsIn(dataDirectory);
  for (const name of namesIn(folder)) {
    await alone(folder, name, clock, async () => {
      const bytes = folder.read(name, SIZE_LIMIT) ?? Buffer.alloc(0);
      const [head] = HEAD.exec(bytes.toString('utf8', 0, LONGEST_HEAD)) ?? [];
      if (head === undefined) return folder.remove(name);
      const { found } = await recordsIn(bytes, Buffer.byteLength(head));
      for (const id of ids ?? found.keys()) found.delete(id);
      await write(folder, name, Buffer.from(head), found.values());
    });
  }
}

export function vectorsIn(dataDirectory: string): StateFolder {
  return stateFolder(dataDirectory, 'vectors');
}

interface Read {
  readonly found: Map<string, VectorRecord>;
  readonly records: number;
  /** False where something follows that is no record. */
  readonly whole: boolean;
}

async function recordsIn(bytes: Buffer, from: number): Promise<Read> {
  const found = new Map<string, VectorRecord>();
  let records = 0;
  let at = from;
  while (at < bytes.length) {
    const read = decodeRecord(bytes, at);
    if (read === null) break;
    found.set(read.record.id, read.record);
    at = read.next;
    if (++records % RECORDS_AT_ONCE === 0) await breathe();
  }
  return { found, records, whole: at === bytes.length };
}

/** All or nothing. */
async function write(folder: StateFolder, name: string, head: Buffer, records: Iterable<VectorRecord>): Promise<void> {
  const pieces = [head];
  for (const record of records) {
    pieces.push(encodeRecord(record));
    if (pieces.length % RECORDS_AT_ONCE === 0) await breathe();
  }
  await folder.write(name, Buffer.concat(pieces));
}

function alone(folder: StateFolder, name: string, clock: Clock, work: () => Promise<void>): Promise<void> {
  const busy = { code: 'vectors_busy', message: 'another process is changing the vectors' };
  return exclusively({ file: path.join(folder.path, `${name}.lock`), staging: folder.folder('.writers'), busy }, clock, work);
}

function namesIn(folder: StateFolder): readonly string[] {
  return folder.list().filter((name) => name.endsWith('.vectors'));
}

/** A skill's vector as it is kept. */
export interface VectorRecord {
  readonly id: string;
  /** Of the document that the text was made of. */
  readonly version: string;
  /** Hex digest of model and text. */
  readonly key: string;
  readonly vector: Float32Array;
}

const RECORD_HEAD = 8;
const KEY = 32;

/** Length, checksum, then id, version, key and numbers; little-endian. */
function encodeRecord({ id, version, key, vector }: VectorRecord): Buffer {
  const [idBytes, versionBytes] = [Buffer.from(id), Buffer.from(version)];
  const size = 4 + idBytes.length + versionBytes.length + KEY + vector.length * 4;
  const record = Buffer.alloc(RECORD_HEAD + size);
  let at = RECORD_HEAD;
  for (const bytes of [idBytes, versionBytes]) {
    at = record.writeUInt16LE(bytes.length, at);
    at += bytes.copy(record, at);
  }
  at += record.write(key, at, 'hex');
  for (const value of vector) at = record.writeFloatLE(value, at);
  record.writeUInt32LE(size, 0);
  record.writeUInt32LE(crc32(record.subarray(RECORD_HEAD)), 4);
  return record;
}

/** The record at `from` and where the next one begins; null where there is no whole one. */
function decodeRecord(bytes: Buffer, from: number): { readonly record: VectorRecord; readonly next: number } | null {
  if (from + RECORD_HEAD > bytes.length) return null;
  const next = from + RECORD_HEAD + bytes.readUInt32LE(from);
  if (next > bytes.length) return null;
  const payload = bytes.subarray(from + RECORD_HEAD, next);
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
