import { randomBytes } from 'node:crypto';
import { close, constants, fchmodSync, fsync, linkSync, openSync, renameSync, unlinkSync, writeFile } from 'node:fs';
import { promisify } from 'node:util';
import type { ProvenFolder } from './proven-folder.ts';
import { codeOf, FileRefused, isAbsence, unavailable } from './refused.ts';
import { syncFolder } from './state-files.ts';

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** New content of a file, on disk under another name. Either `commit` or `discard` ends it. */
export class StagedFile {
  private constructor(
    private readonly folder: ProvenFolder,
    private readonly name: string,
    private readonly temporary: string,
  ) {}

  /** Takes over `folder`, which is closed with the staged file. `mode` null: as the system makes new files. */
  static async write(folder: ProvenFolder, name: string, bytes: Uint8Array, mode: number | null): Promise<StagedFile> {
    const temporary = `.${randomBytes(8).toString('hex')}.tmp`;
    const staged = new StagedFile(folder, name, temporary);
    const descriptor = folder.within((at) => openSync(at(temporary), CREATE, 0o666));
    try {
      await promisify(writeFile)(descriptor, bytes);
      if (mode !== null) fchmodSync(descriptor, mode);
      await promisify(fsync)(descriptor);
    } catch (error) {
      staged.removeTemporary();
      throw error;
    } finally {
      await promisify(close)(descriptor);
    }
    return staged;
  }

  /** Puts the content in place at once; whoever reads sees the old or the new, never a part. Throws `target_exists` for what it may not replace. */
  commit({ replace = true }: { readonly replace?: boolean } = {}): void {
    try {
      this.folder.within((at) => {
        if (replace) renameSync(at(this.temporary), at(this.name));
        else this.link(at);
        syncFolder(at('.'));
      });
    } catch (error) {
      this.removeTemporary();
      throw isAbsence(error) ? unavailable(this.name) : error;
    } finally {
      this.folder.close();
    }
  }

  discard(): void {
    try {
      this.removeTemporary();
    } finally {
      this.folder.close();
    }
  }

  private link(at: (name: string) => string): void {
    try {
      linkSync(at(this.temporary), at(this.name));
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      throw new FileRefused('target_exists', `'${this.name}' exists already`);
    }
    unlinkSync(at(this.temporary));
  }

  /** Also in a folder that was moved meanwhile: nothing else has this name. */
  private removeTemporary(): void {
    try {
      unlinkSync(this.folder.place(this.temporary));
    } catch (error) {
      if (!isAbsence(error)) throw error; // the rename has happened
    }
  }
}
