import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rename, unlink } from 'node:fs/promises';
import { codeOf } from 'pith';
import type { Directory } from './directory.ts';

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** New content of a file, on disk under another name. Either `commit` or `discard` ends it. */
export class StagedFile {
  private constructor(
    private readonly folder: Directory,
    private readonly name: string,
    private readonly temporary: string,
  ) {}

  /** Takes over `folder`, which is closed with the staged file. `mode` null: as the system makes new files. */
  static async write(folder: Directory, name: string, bytes: Uint8Array, mode: number | null): Promise<StagedFile> {
    const temporary = `.${randomBytes(8).toString('hex')}.tmp`;
    const staged = new StagedFile(folder, name, temporary);
    const handle = await open(folder.at(temporary), CREATE, 0o666);
    try {
      await handle.writeFile(bytes);
      if (mode !== null) await handle.chmod(mode);
      await handle.sync();
    } catch (error) {
      await staged.removeTemporary();
      throw error;
    } finally {
      await handle.close();
    }
    return staged;
  }

  /** Puts the content in place at once; whoever reads sees the old or the new, never a part. */
  async commit(): Promise<void> {
    try {
      await this.folder.requireInside();
      await rename(this.folder.at(this.temporary), this.folder.at(this.name));
      await this.folder.sync();
    } catch (error) {
      await this.removeTemporary();
      throw error;
    } finally {
      await this.folder.close();
    }
  }

  async discard(): Promise<void> {
    try {
      await this.removeTemporary();
    } finally {
      await this.folder.close();
    }
  }

  private async removeTemporary(): Promise<void> {
    await unlink(this.folder.at(this.temporary)).catch((error: unknown) => {
      if (codeOf(error, '') !== 'ENOENT') throw error; // the rename has happened
    });
  }
}
