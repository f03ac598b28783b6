import { randomBytes } from 'node:crypto';
import {
  close,
  closeSync,
  constants,
  fchmodSync,
  fsync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFile,
} from 'node:fs';
import { promisify } from 'node:util';
import type { ProvenFolder } from './proven-folder.ts';
import { codeOf, FileRefused, isAbsence, unavailable } from './refused.ts';
import { syncFolder } from './state-files.ts';

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

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

  /**
   * Puts the content in place at once; whoever reads sees the old or the new, never a part. Throws `target_exists` for what it may not
   * replace, and with `former` `file_changed` where something else is there than these bytes, or, with null, anything.
   */
  commit({ replace = true, former }: { readonly replace?: boolean; readonly former?: Uint8Array | null } = {}): void {
    try {
      this.folder.within((at) => {
        if (former !== undefined) requireContent(at(this.name), former, this.name);
        if (replace && former !== null) renameSync(at(this.temporary), at(this.name));
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

/** Throws `file_changed` where something else is there; null: anything. */
export function requireContent(file: string, former: Uint8Array | null, name: string): void {
  const now = contentOf(file);
  if (now === null || former === null ? now === former : now.equals(former)) return;
  throw new FileRefused('file_changed', `'${name}' was changed by another meanwhile; nothing was changed, read it and try again`);
}

/** null: there is none. */
function contentOf(file: string): Buffer | null {
  let descriptor: number;
  try {
    descriptor = openSync(file, READ);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
  try {
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
