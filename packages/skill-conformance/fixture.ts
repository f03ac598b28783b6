import { chmod, lstat, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { endOf, startProcess } from '@pith/supervised-process';
import type { Case, Entry } from './case.ts';

/** Why this machine cannot have a case; thrown while its files are written. */
export class NotHere extends Error {}

/** Writes a case's files below `root`, an empty folder. Throws `NotHere` where the file system does not support one. */
export async function writeCase({ files }: Pick<Case, 'files'>, root: string): Promise<void> {
  await mkdir(path.join(root, 'skills'), { recursive: true });
  for (const [name, entry] of Object.entries(files)) {
    const file = path.join(root, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeEntry(entry, file, root);
  }
  for (const [name, entry] of Object.entries(files)) {
    if (typeof entry === 'string' && (await readFile(path.join(root, name), 'utf8')) !== inRoot(entry, root))
      throw new NotHere('the file system takes two names for one');
  }
}

/** Runs `use` with the real path of a new temporary folder, and removes the folder afterwards. */
export async function inTemporaryFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await realpath(await mkdtemp(path.join(os.tmpdir(), 'skill-conformance-')));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function writeEntry(entry: Entry, file: string, root: string): Promise<void> {
  if (typeof entry === 'string') await writeFile(file, inRoot(entry, root));
  else if (entry instanceof Uint8Array) await writeFile(file, entry);
  else if ('link' in entry) await symlink(path.relative(path.dirname(file), path.join(root, entry.link)), file).catch(noLinks);
  else if ('fifo' in entry) await makeFifo(file);
  else {
    await writeFile(file, entry.unreadable);
    await chmod(file, 0);
    const isRead = await readFile(file).then(
      () => true,
      () => false,
    );
    if (isRead) throw new NotHere('this user may read every file');
  }
}

function inRoot(text: string, root: string): string {
  return text.replaceAll('{root}', () => root);
}

async function makeFifo(file: string): Promise<void> {
  try {
    await endOf(await startProcess(['mkfifo', file], { stdio: 'ignore' }));
    if ((await lstat(file)).isFIFO()) return;
  } catch {
    // The program is missing or failed: either way the caller finds no file.
  }
  throw new NotHere('the system has no mkfifo');
}

function noLinks(error: unknown): never {
  throw new NotHere(`links cannot be made here: ${error instanceof Error ? error.message : String(error)}`);
}
