import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '@pith/promises';
import { FileRefused } from './refused.ts';
import type { StateFolder } from './state-files.ts';

/** No file takes so long to write. */
const ABANDONED_MS = 60 * 60 * 1000;

/** A file that may be deleted at any time. Its last line has the version of what it holds and a digest: damaged bytes are not believed. */
export class CacheFile {
  constructor(
    private readonly folder: StateFolder,
    private readonly name: string,
    private readonly limit: number,
    private readonly logger: { debug(message: string, data: { readonly why: string }): void },
  ) {}

  /** What `decode` makes of its content, which begins at the first byte of a buffer. null where there is none, or it is damaged, of another version or shape, or cannot be read. */
  read<T>(version: string, decode: (body: Buffer) => T): T | null {
    try {
      const whole = this.folder.read(this.name, this.limit);
      const end = Math.max(0, whole?.lastIndexOf('\n') ?? 0);
      const body = whole?.subarray(0, end) ?? null;
      return body !== null && whole?.toString('utf8', end) === lastLineOf(version, body) ? decode(body) : null;
    } catch (error) {
      this.logger.debug(`${this.name} was not used`, { why: (error as Error).message });
      return null;
    }
  }

  /** Never rejects: where it cannot be written there is none. */
  async write(version: string, body: Uint8Array): Promise<void> {
    try {
      this.#removeDrafts();
      await this.folder.write(this.name, Buffer.concat([body, Buffer.from(lastLineOf(version, body))]), { durable: false });
    } catch (error) {
      this.logger.debug(`${this.name} was not written`, { why: (error as Error).message });
    }
  }

  /** Why it can be neither read nor written, such as a folder in its place; none where it can. Never throws. `consequence`: what that costs. */
  findings(consequence: string) {
    try {
      this.folder.has(this.name);
      return [];
    } catch (error) {
      const { message } = error as Error;
      const { code, cure } = error instanceof FileRefused ? error : { code: 'internal', cure: 'make its folder readable and writable' };
      return [{ severity: 'warning' as const, code, message: `${message}, so ${consequence}`, cure }];
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
