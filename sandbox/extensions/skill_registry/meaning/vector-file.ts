import { createHash } from 'node:crypto';
import { appendFile, mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { codeOf, messageOf, type Logger } from 'pith';
import { INDEX_LIMIT, readRegularFile } from '../scan/regular-file.ts';
import { decodeRecord, encodeRecord, type VectorRecord } from './vector-record.ts';

/** Files of other models that are kept, for who changes back. */
const OTHER_MODELS = 2;
const RECORDS_AT_ONCE = 500;
/** Records that no longer count, before the file is written anew. */
const MOST_DEAD = 500;
const MARK = 'pith-vectors 1';

/** The vectors of one model from one process to the next: a log of records, the last of an id counts. May be deleted at any time. */
export class VectorFile {
  readonly file: string;
  readonly #folder: string;
  readonly #head: Buffer;
  readonly #logger: Logger;
  #records = 0;
  #exists = false;
  #failed = false;

  constructor(folder: string, model: string, logger: Logger) {
    this.#folder = folder;
    this.file = path.join(folder, `${createHash('sha256').update(model).digest('hex').slice(0, 16)}.vectors`);
    this.#head = Buffer.from(`${MARK} ${JSON.stringify(model)}\n`);
    this.#logger = logger;
  }

  /** What was kept, by id. Where the file is damaged, what stands before that, and the rest is asked for again. Never rejects. */
  async load(): Promise<Map<string, VectorRecord>> {
    const found = new Map<string, VectorRecord>();
    let bytes: Buffer;
    try {
      bytes = await readRegularFile(this.file, INDEX_LIMIT);
    } catch (error) {
      if (codeOf(error, '') !== 'ENOENT') this.#warn(`the vectors in ${this.file} cannot be read and are made anew: ${messageOf(error)}`);
      return found;
    }
    let at = bytes.subarray(0, this.#head.length).equals(this.#head) ? this.#head.length : -1;
    while (at >= 0 && at < bytes.length) {
      const read = decodeRecord(bytes, at);
      if (read === null) break;
      found.set(read.record.id, read.record);
      at = read.next;
      if (++this.#records % RECORDS_AT_ONCE === 0) await breathe();
    }
    this.#exists = true;
    if (at === bytes.length) return found;
    this.#warn(`the file of vectors ${this.file} is damaged: ${found.size} are of use, the rest is made anew`);
    await this.write(found.values(), found.size);
    return found;
  }

  /** Never rejects: what cannot be kept is asked for again by the next process. */
  async append(records: readonly VectorRecord[], live: number, all: () => Iterable<VectorRecord>): Promise<void> {
    if (!this.#exists || this.#records + records.length > live + MOST_DEAD + live) return this.write(all(), live);
    await this.#try(async () => {
      await appendFile(this.file, Buffer.concat(records.map(encodeRecord)));
      this.#records += records.length;
    });
  }

  /** All or nothing. */
  async write(records: Iterable<VectorRecord>, count: number): Promise<void> {
    const pieces = [this.#head];
    for (const record of records) {
      pieces.push(encodeRecord(record));
      if (pieces.length % RECORDS_AT_ONCE === 0) await breathe();
    }
    await this.#try(async () => {
      const { default: writeFileAtomic } = await import('write-file-atomic');
      await mkdir(this.#folder, { recursive: true });
      if (!this.#exists) await this.#tidy();
      await writeFileAtomic(this.file, Buffer.concat(pieces));
      this.#exists = true;
      this.#records = count;
    });
  }

  /** Room for this model's file: only the newest of other models stay. */
  async #tidy(): Promise<void> {
    const names = (await readdir(this.#folder)).filter((name) => name.endsWith('.vectors'));
    const files = await Promise.all(names.map(async (name) => ({ name, at: (await stat(path.join(this.#folder, name))).mtimeMs })));
    for (const { name } of files.sort((a, b) => b.at - a.at).slice(OTHER_MODELS)) await rm(path.join(this.#folder, name), { force: true });
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#failed = false;
    } catch (error) {
      if (!this.#failed) this.#warn(`vectors cannot be kept in ${this.file}: ${messageOf(error)}; the next start asks for them again`);
      this.#failed = true;
      this.#exists = false; // its end may be torn
    }
  }

  #warn(message: string): void {
    this.#logger.warn(message);
  }
}
