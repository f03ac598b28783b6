import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '@pith/promises';
import { FileRefused } from './refused.ts';
import type { StateFolder } from './state-files.ts';

/** An older draft is abandoned: no file takes an hour to write. */
const ABANDONED_MS = 60 * 60 * 1000;

/**
 * A cache file, which may be deleted at any time. Its last line has the version of the content and a digest, so damaged content is never
 * used.
 */
export class CacheFile {
  constructor(
    private readonly folder: StateFolder,
    private readonly name: string,
    private readonly limit: number,
    private readonly logger: { debug(message: string, data: { readonly why: string }): void },
  ) {}

  /** The decoded content. null where the file is missing, damaged, of another version or shape, or cannot be read. */
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

  /** Never rejects: a cache that cannot be written does not exist. */
  async write(version: string, body: Uint8Array): Promise<void> {
    try {
      this.#removeDrafts();
      await this.folder.write(this.name, Buffer.concat([body, Buffer.from(lastLineOf(version, body))]), { durable: false });
    } catch (error) {
      this.logger.debug(`${this.name} was not written`, { why: (error as Error).message });
    }
  }

  /**
   * Why the cache cannot be read or written, such as a folder in its place; empty where it can. Never throws. `consequence`: the effect.
   */
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

  /** Removes drafts of killed processes, each of which may be as large as the file. */
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
