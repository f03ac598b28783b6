import path from 'node:path';
import { lstat, opendir } from 'node:fs/promises';
import { type Clock, messageOf, PithError } from '../../contract/index.ts';
import { lstatSync, renameSync } from 'node:fs';
import { stateFolder, type StateFolder } from '@pith/safe-files';

/** Whether it is the id of an extension that another one brings, `<word>:<name>`: nobody declares those. */
export function isBrought(id: string): boolean {
  return /^[a-z][a-z0-9_]*:/.test(id);
}

/** The id, or the name in that of a brought one. */
export function shortId(id: string): string {
  return isBrought(id) ? id.slice(id.indexOf(':') + 1) : id;
}

const EXTENSIONS = 'extensions';
const BROUGHT = 'brought';
/** Folder names in the data directory that an id could equal. Other names of the kernel begin with a point. */
const KERNEL_FOLDERS: ReadonlySet<string> = new Set([EXTENSIONS, BROUGHT, 'logs']);

/** Where an extension keeps its data: a folder that no other id can name. Nothing is made. */
export function extensionData(dataDirectory: string, id: string): StateFolder {
  return isBrought(id)
    ? stateFolder(dataDirectory, BROUGHT, id.slice(0, id.indexOf(':')), shortId(id))
    : stateFolder(dataDirectory, EXTENSIONS, id);
}

/** Makes the folder, the first time from where earlier versions kept it. Throws with a cure when it cannot be made. */
export function makeExtensionData(dataDirectory: string, id: string): string {
  const folder = extensionData(dataDirectory, id);
  try {
    if (!isBrought(id) && !KERNEL_FOLDERS.has(id)) takeOver(dataDirectory, id, folder);
    return folder.make();
  } catch (error) {
    if (error instanceof PithError) throw error;
    throw new PithError('settings_invalid', `the data folder ${folder.path} cannot be made: ${messageOf(error)}`, {
      cause: error,
      where: folder.path,
      cure: `make ${dataDirectory} writable, or set data_dir to another folder`,
    });
  }
}

/** Renames `data/<id>` of earlier versions, whole or not at all. What is a link or belongs to others stays where it is. */
function takeOver(dataDirectory: string, id: string, folder: StateFolder): void {
  const former = path.join(stateFolder(dataDirectory).make(), id);
  const found = lstatSync(former, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true || found.uid !== (process.getuid?.() ?? found.uid)) return;
  stateFolder(dataDirectory, EXTENSIONS).make();
  if (lstatSync(folder.path, { throwIfNoEntry: false }) !== undefined) return;
  try {
    renameSync(former, folder.path);
  } catch (error) {
    // Another process was faster: its folder is the one.
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** Small files cost room in other ways. */
const MOST_FILES = 100_000;
const LOOK_EVERY_MS = 2000;
/** A look takes at most a twentieth of the time. */
const PAUSE = 20;

export interface FolderUse {
  /** On disk; what links lead to is not counted. */
  readonly bytes: number;
  readonly files: number;
}

/** How much a folder holds. It stops counting beyond the limit. Never rejects: what cannot be looked at counts as nothing. */
export async function measureFolder(folder: string, mostBytes: number): Promise<FolderUse> {
  let bytes = 0;
  let files = 0;
  const waiting = [folder];
  for (let at = waiting.pop(); at !== undefined && bytes <= mostBytes && files <= MOST_FILES; at = waiting.pop()) {
    const entries = await opendir(at).catch(() => null); // removed meanwhile
    if (entries === null) continue;
    for await (const entry of entries) {
      const place = path.join(at, entry.name);
      const found = await lstat(place).catch(() => null); // the same
      if (found === null) continue;
      files += 1;
      bytes += found.blocks === undefined ? found.size : found.blocks * 512;
      if (found.isDirectory()) waiting.push(place);
      if (bytes > mostBytes || files > MOST_FILES) break;
    }
  }
  return { bytes, files };
}

/** Why a folder holds too much, as a sentence without its subject; null: it does not. */
export async function whyTooLarge(folder: string, limitMb: number): Promise<string | null> {
  const { bytes, files } = await measureFolder(folder, limitMb * 1024 * 1024);
  if (bytes > limitMb * 1024 * 1024) return `it keeps more than ${limitMb} MB in ${folder}`;
  return files > MOST_FILES ? `it keeps more than ${MOST_FILES} files in ${folder}` : null;
}

/** Looks at once and every few seconds, and reports once when the folder holds too much. Returns what ends it. */
export function watchFolder(folder: string, limitMb: number, clock: Clock, exceeded: (message: string) => void): () => void {
  let ended = false;
  let cancel = (): void => undefined;
  const look = async (): Promise<void> => {
    const began = clock.now();
    const why = await whyTooLarge(folder, limitMb);
    if (ended) return;
    if (why !== null) return exceeded(why);
    cancel = clock.after(Math.max(LOOK_EVERY_MS, PAUSE * (clock.now() - began)), () => void look());
  };
  void look();
  return () => {
    ended = true;
    cancel();
  };
}
