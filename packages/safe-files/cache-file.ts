import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '@pith/promises';
import type { StateFolder } from './state-files.ts';

/** No file takes so long to write. */
const ABANDONED_MS = 60 * 60 * 1000;

/** A file that may be deleted at any time. Its first line has the version of what it holds and a digest: damaged bytes are not believed. */
export class CacheFile {
  constructor(
    private readonly folder: StateFolder,
    private readonly name: string,
    private readonly limit: number,
  ) {}

  /** null where there is none, or it is damaged or of another version. */
  read(version: string): Buffer | null {
    const whole = this.folder.read(this.name, this.limit);
    const end = whole === null ? -1 : whole.indexOf('\n') + 1;
    const body = whole?.subarray(end) ?? null;
    return body !== null && whole?.toString('utf8', 0, end) === headOf(version, body) ? body : null;
  }

  async write(version: string, body: Uint8Array): Promise<void> {
    this.#removeDrafts();
    await this.folder.write(this.name, Buffer.concat([Buffer.from(headOf(version, body)), body]), { durable: false });
  }

  /** Of processes that were killed while they wrote: each may be as large as the file. */
  #removeDrafts(): void {
    for (const name of this.folder.list().filter((each) => each.startsWith(`.${this.name}.`))) {
      const draft = statSync(path.join(this.folder.path, name), { throwIfNoEntry: false });
      if (draft !== undefined && systemClock.now() - draft.mtimeMs > ABANDONED_MS) this.folder.remove(name);
    }
  }
}

/** As long as whole numbers of 64 bits: views of what follows need no copy. */
function headOf(version: string, body: Uint8Array): string {
  const head = `${version} ${createHash('sha256').update(body).digest('hex')}`;
  return `${head.padEnd(Math.ceil((head.length + 1) / 8) * 8 - 1)}\n`;
}
