import { createHash } from 'node:crypto';
import type { StateFolder } from './state-files.ts';

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

  write(version: string, body: Uint8Array): Promise<void> {
    return this.folder.write(this.name, Buffer.concat([Buffer.from(headOf(version, body)), body]), { durable: false });
  }
}

/** As long as whole numbers of 64 bits: views of what follows need no copy. */
function headOf(version: string, body: Uint8Array): string {
  const head = `${version} ${createHash('sha256').update(body).digest('hex')}`;
  return `${head.padEnd(Math.ceil((head.length + 1) / 8) * 8 - 1)}\n`;
}
