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
import path from 'node:path';
import type { ProvenFolder } from './proven-folder.ts';
import { codeOf, FileRefused, isAbsence, refusalOf } from './refused.ts';
import { StagingNotes } from './staging-notes.ts';
import { syncFolder } from './state-files.ts';

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** A file's new content, on disk under a temporary name until `commit` or `discard`. */
export class StagedFile {
  private constructor(
    private readonly folder: ProvenFolder,
    private readonly name: string,
    private readonly temporary: string,
    /** Removes the note of the temporary file. */
    private readonly done: () => void,
  ) {}

  /** Takes over `folder` and closes it with the staged file. `mode` null: the system's default. */
  static async write(
    folder: ProvenFolder,
    name: string,
    bytes: Uint8Array,
    { mode, notes }: { readonly mode: number | null; readonly notes: StagingNotes | null },
  ): Promise<StagedFile> {
    const id = randomBytes(8).toString('hex');
    const temporary = StagingNotes.nameOf(id);
    const done = notes?.begin(id, path.join(folder.path, temporary)) ?? (() => undefined);
    const staged = new StagedFile(folder, name, temporary, done);
    let descriptor: number;
    try {
      descriptor = folder.within((at) => openSync(at(temporary), CREATE, 0o666));
    } catch (error) {
      done();
      throw error;
    }
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
   * Replaces the file atomically: a reader sees the old or the new content. Throws `target_exists` for what it may not replace. With
   * `former`, throws `file_changed` where the content is not these bytes or, with null, where anything exists.
   */
  commit({ replace = true, former }: { readonly replace?: boolean; readonly former?: Uint8Array | null } = {}): void {
    try {
      this.folder.within((at) => {
        if (former !== undefined) requireContent(at(this.name), former, this.name);
        if (replace && former !== null) renameSync(at(this.temporary), at(this.name));
        else this.link(at);
        syncFolder(at('.'));
      });
      this.done();
    } catch (error) {
      this.removeTemporary();
      throw refusalOf(error, this.name);
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

  /** Works in a folder that was moved meanwhile, too: the name is unique. */
  private removeTemporary(): void {
    try {
      unlinkSync(this.folder.place(this.temporary));
    } catch (error) {
      if (!isAbsence(error)) throw error; // the rename has happened
    }
    this.done();
  }
}

/** Throws `file_changed` where the content differs from `former`; null: nothing may exist. */
export function requireContent(file: string, former: Uint8Array | null, name: string): void {
  const now = contentOf(file);
  if (now === null || former === null ? now === former : now.equals(former)) return;
  throw new FileRefused('file_changed', `'${name}' was changed by another meanwhile; nothing was changed, read it and try again`);
}

/** null: there is no file. */
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
