import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '@pith/promises';
import { FileRefused } from './refused.ts';
import type { StateFolder } from './state-files.ts';

/** No file takes so long to write. */
const ABANDONED_MS = 60 * 60 * 1000;

export interface CacheFinding {
  readonly severity: 'warning';
  readonly code: string;
  readonly message: string;
  readonly cure: string;
}

/** A file that may be deleted at any time. Its last line has the version of what it holds and a digest: damaged bytes are not believed. */
export class CacheFile {
  constructor(
    private readonly folder: StateFolder,
    private readonly name: string,
    private readonly limit: number,
  ) {}

  /** From the first byte of a buffer. null where there is none, or it is damaged or of another version. */
  read(version: string): Buffer | null {
    const whole = this.folder.read(this.name, this.limit);
    if (whole === null) return null;
    const end = Math.max(0, whole.lastIndexOf('\n'));
    const body = whole.subarray(0, end);
    return whole.toString('utf8', end) === lastLineOf(version, body) ? body : null;
  }

  async write(version: string, body: Uint8Array): Promise<void> {
    this.#removeDrafts();
    await this.folder.write(this.name, Buffer.concat([body, Buffer.from(lastLineOf(version, body))]), { durable: false });
  }

  /** Why it can be neither read nor written, such as a folder in its place; none where it can. `without`: what that costs. */
  findings(without: string): readonly CacheFinding[] {
    try {
      this.folder.has(this.name);
      return [];
    } catch (error) {
      if (!(error instanceof FileRefused)) throw error;
      const { code, message, cure = '' } = error;
      return [{ severity: 'warning', code, message: `${message}, so ${without}`, cure }];
    }
  }

  /** Of processes that were killed while they wrote: each may be as large as the file. */
  #removeDrafts(): void {
    for (const name of this.folder.list().filter((each) => each.startsWith(`.${this.name}.`))) {
      const draft = statSync(path.join(this.folder.path, name), { throwIfNoEntry: false });
      if (draft !== undefined && systemClock.now() - draft.mtimeMs > ABANDONED_MS) this.folder.remove(name);
    }
  }
}

function lastLineOf(version: string, body: Uint8Array): string {
  return `\n${version} ${createHash('sha256').update(body).digest('hex')}`;
}
