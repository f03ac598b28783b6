import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { open as openAsync, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { FileRefused } from './refused.ts';

/**
 * The only way to open files of state. Follows no link from the root down, and opens only regular files with one name that belong to this
 * user or root: anything else is `state_refused`, without waiting. Creates files as 0600, folders as 0700. A name is one path segment.
 * Errors of the file system pass through.
 */
export interface StateFolder {
  /** Absolute. For messages, child processes and databases. */
  readonly path: string;
  /** A folder in this one; does not create it. */
  folder(...names: readonly string[]): StateFolder;
  /** Creates the folder and its parents, and returns its path. */
  make(): string;
  /** null when there is no file. Throws `RangeError` beyond `limit` bytes, 64 MB by default. */
  read(name: string, limit?: number): Buffer | null;
  /** Replaces the whole file: a reader sees the old or the new content. Durable when this resolves, unless `durable` is false. */
  write(name: string, bytes: string | Uint8Array, options?: { readonly durable?: boolean }): Promise<void>;
  /** As `write`, synchronously. */
  writeNow(name: string, bytes: string | Uint8Array): void;
  /**
   * With `rotate`, a file that would exceed the limit in bytes becomes `<name>.1`, and so on; beyond the limit of files the oldest goes.
   */
  append(name: string, bytes: string | Uint8Array, rotate?: Rotation): void;
  /** Whether the file exists and may be opened. */
  has(name: string): boolean;
  /** Identifies the version of a file; '' when there is none. */
  stamp(name: string): string;
  /** The names of all entries; empty when the folder is missing. */
  list(): readonly string[];
  /** Removes a file, or a folder with its content; of a link, only the link. */
  remove(name: string): void;
  /** The path of a SQLite database, created when missing. Checks its log, index and journal too. */
  database(name: string): string;
}

export interface Rotation {
  readonly bytes: number;
  readonly files: number;
}

/** The state in `root`, or in a folder below it. Creates nothing before the first write. */
export function stateFolder(root: string, ...names: readonly string[]): StateFolder {
  return new CheckedFolder([path.resolve(root)]).folder(...names); // a slash at its end would follow a link
}

/** Creates a folder and its parents. Node's `recursive` never ends where a folder exists and refuses entries, as /proc does. */
export function makeFolders(folder: string, mode = 0o777): void {
  const above = path.dirname(folder);
  if (above !== folder && !fs.existsSync(above)) makeFolders(above, mode);
  makeFolder(folder, mode);
}

/** Does nothing where something exists, which may be no folder. */
export function makeFolder(folder: string, mode = 0o777): void {
  try {
    fs.mkdirSync(folder, { mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error; // otherwise it existed, or another process was faster
  }
}

/** Replaces a file in an existing folder, durable when it returns. Never follows a link at the file's place. */
export function replaceFile(file: string, bytes: string | Uint8Array, mode: number = FILE): void {
  const draft = draftOf(file);
  try {
    const descriptor = fs.openSync(draft, 'wx', mode);
    try {
      fs.writeFileSync(descriptor, bytes);
      fs.fsyncSync(descriptor);
    } finally {
      fs.closeSync(descriptor);
    }
    fs.renameSync(draft, file);
    syncFolder(path.dirname(file));
  } catch (error) {
    fs.rmSync(draft, { force: true });
    throw error;
  }
}

const FILE = 0o600;
const FOLDER = 0o700;
const OTHERS = 0o077;
const DEFAULT_LIMIT = 64 * 1024 * 1024;
const { O_APPEND, O_CREAT, O_RDONLY, O_WRONLY } = fs.constants;
/** Windows has neither flag, and no pipes in folders. */
const SAFE = (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0);

class CheckedFolder implements StateFolder {
  /** `levels`: the folders from the root to this one. */
  constructor(private readonly levels: readonly string[]) {}

  get path(): string {
    return this.levels.at(-1)!;
  }

  folder(...names: readonly string[]): StateFolder {
    const levels = [...this.levels];
    for (const name of names) levels.push(path.join(levels.at(-1)!, segment(name)));
    return new CheckedFolder(levels);
  }

  make(): string {
    for (const [index, level] of this.levels.entries()) {
      if (!isFolder(level)) {
        if (index === 0) makeFolders(level, FOLDER);
        else makeFolder(level, FOLDER);
        isFolder(level); // another process may have created something there meanwhile
      }
    }
    return this.path;
  }

  read(name: string, limit = DEFAULT_LIMIT): Buffer | null {
    const file = this.#existing(name);
    if (file === null) return null;
    const descriptor = openFile(file, O_RDONLY);
    if (descriptor === null) return null;
    try {
      const { size } = fs.fstatSync(descriptor);
      if (size > limit) throw new RangeError(`${file} has ${size} bytes, more than the ${limit} that are read`);
      return fs.readFileSync(descriptor);
    } finally {
      fs.closeSync(descriptor);
    }
  }

  async write(name: string, bytes: string | Uint8Array, { durable = true }: { readonly durable?: boolean } = {}): Promise<void> {
    const file = this.#replaceable(name);
    const draft = draftOf(file);
    try {
      const handle = await openAsync(draft, 'wx', FILE);
      try {
        await handle.writeFile(bytes);
        if (durable) await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(draft, file);
      if (durable) syncFolder(this.path);
    } catch (error) {
      await rm(draft, { force: true }).catch(() => undefined); // the first error is the one to report
      throw error;
    }
  }

  writeNow(name: string, bytes: string | Uint8Array): void {
    replaceFile(this.#replaceable(name), bytes);
  }

  append(name: string, bytes: string | Uint8Array, rotate?: Rotation): void {
    const file = this.#replaceable(name);
    if (rotate) rotateBefore(file, Buffer.byteLength(bytes), rotate);
    const descriptor = openFile(file, O_WRONLY | O_APPEND | O_CREAT) as number;
    try {
      fs.writeFileSync(descriptor, bytes);
    } finally {
      fs.closeSync(descriptor);
    }
  }

  has(name: string): boolean {
    const file = this.#existing(name);
    const found = file === null ? undefined : fs.lstatSync(file, { throwIfNoEntry: false });
    if (file !== null && found) requireOwnFile(file, found);
    return found !== undefined;
  }

  stamp(name: string): string {
    const file = this.#existing(name);
    const found = file === null ? undefined : fs.lstatSync(file, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? '' : `${found.dev} ${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`;
  }

  list(): readonly string[] {
    if (!this.#exists()) return [];
    try {
      return fs.readdirSync(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []; // removed meanwhile
      throw error;
    }
  }

  remove(name: string): void {
    const file = this.#existing(name);
    if (file !== null) fs.rmSync(file, { recursive: true, force: true, maxRetries: 3 });
  }

  database(name: string): string {
    const file = this.#replaceable(name);
    for (const beside of ['-wal', '-shm', '-journal']) isThere(`${file}${beside}`);
    // An existing database is not opened again here: closing any descriptor of a file releases all locks of the process on it.
    if (!isThere(file)) fs.closeSync(openFile(file, O_WRONLY | O_APPEND | O_CREAT) as number);
    return file;
  }

  /** The path of a file in existing folders; null when a folder is missing. */
  #existing(name: string): string | null {
    const file = path.join(this.path, segment(name));
    return this.#exists() ? file : null;
  }

  #exists(): boolean {
    return this.levels.every(isFolder);
  }

  /** The path of a file in a created folder. A rename replaces what is there: it follows no link, waits for no pipe, refuses a folder. */
  #replaceable(name: string): string {
    const file = path.join(this.path, segment(name));
    this.make();
    if (fs.lstatSync(file, { throwIfNoEntry: false })?.isDirectory()) throw refused(file, 'a folder is in its place', CURE);
    return file;
  }
}

/** An interruption at any point leaves each line in one of the files. Two processes that rotate at once may keep one file less. */
function rotateBefore(file: string, bytes: number, { bytes: most, files }: Rotation): void {
  const found = fs.lstatSync(file, { throwIfNoEntry: false });
  if (found === undefined || !found.isFile() || found.size === 0 || found.size + bytes <= most) return;
  for (let index = files - 1; index > 1; index -= 1) renameIfThere(`${file}.${index - 1}`, `${file}.${index}`);
  if (files > 1) renameIfThere(file, `${file}.1`);
  else fs.rmSync(file, { force: true });
}

function renameIfThere(from: string, to: string): void {
  try {
    fs.renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Throws for anything but a name, which could lead out of the folder. */
function segment(name: string): string {
  if (name !== '' && name !== '.' && name !== '..' && !/[/\\\0]/.test(name)) return name;
  throw new FileRefused('parameter_invalid', `${JSON.stringify(name)} cannot name a file of state`, 'use one segment of a path');
}

/** False when nothing is there. */
function isFolder(folder: string): boolean {
  const found = fs.lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return false;
  if (!found.isDirectory()) throw refused(folder, `${kindOf(found)} is in the place of a folder`, CURE);
  requireOwner(folder, found);
  return true;
}

/** False where nothing exists, or others may read the file: `openFile` then makes it private. Throws as that does. */
function isThere(file: string): boolean {
  const found = fs.lstatSync(file, { throwIfNoEntry: false });
  if (found !== undefined) requireOwnFile(file, found);
  return found !== undefined && (found.mode & OTHERS) === 0;
}

/** null when there is no file and none is to be created. */
function openFile(file: string, flags: number): number | null {
  const found = fs.lstatSync(file, { throwIfNoEntry: false });
  if (found) requireOwnFile(file, found); // checked first, since opening a device may have effects
  let descriptor: number;
  try {
    descriptor = fs.openSync(file, flags | SAFE, FILE);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && (flags & O_CREAT) === 0) return null;
    if (code === 'ELOOP' || code === 'EMLINK') throw refused(file, 'there is a link in its place', CURE);
    throw error;
  }
  try {
    const opened = fs.fstatSync(descriptor);
    requireOwnFile(file, opened);
    if ((flags & O_WRONLY) !== 0 && (opened.mode & OTHERS) !== 0) keepFromOthers(descriptor);
    return descriptor;
  } catch (error) {
    fs.closeSync(descriptor);
    throw error;
  }
}

function keepFromOthers(descriptor: number): void {
  try {
    fs.fchmodSync(descriptor, FILE);
  } catch {
    // it belongs to root, or the file system has no modes: used as it is
  }
}

function requireOwnFile(file: string, found: fs.Stats): void {
  if (!found.isFile()) throw refused(file, `${kindOf(found)} is in its place`, CURE);
  if (found.nlink > 1) throw refused(file, 'it has several names (hard links), so it may be a file from elsewhere', CURE);
  requireOwner(file, found);
}

function requireOwner(file: string, found: fs.Stats): void {
  const own = process.getuid?.();
  if (own === undefined || found.uid === own || found.uid === 0) return;
  throw refused(file, `it belongs to another user (${found.uid})`, 'run Pith as that user, or set data_dir to a folder of your own');
}

const CURE = 'look at what it is, then move it away; a data folder that is meant to lie elsewhere is named by data_dir';

function refused(where: string, why: string, cure: string): FileRefused {
  return new FileRefused('state_refused', `${where} is not used: ${why}`, cure, where);
}

/** `a pipe`, for messages. */
export function kindOf(found: fs.Stats | fs.BigIntStats): string {
  if (found.isSymbolicLink()) return 'a link';
  if (found.isDirectory()) return 'a folder';
  if (found.isFile()) return 'a file';
  if (found.isFIFO()) return 'a pipe';
  return found.isSocket() ? 'a socket' : 'a device';
}

function draftOf(file: string): string {
  return path.join(path.dirname(file), `.${path.basename(file)}.${randomUUID()}`);
}

/** Makes the files of a folder durable, and the folders in it. */
export async function syncTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const place = path.join(entry.parentPath, entry.name);
    if (entry.isDirectory()) syncFolder(place);
    if (!entry.isFile()) continue;
    const handle = await openAsync(place, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
  syncFolder(folder);
}

/** Makes renames in a folder durable. */
export function syncFolder(folder: string): void {
  let descriptor: number;
  try {
    descriptor = fs.openSync(folder, 'r');
  } catch {
    return; // some systems cannot open folders; the rename is then as durable as it gets
  }
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}
