import path from 'node:path';
import { messageOf, PithError } from '../../contract/index.ts';
import { lstatSync, realpathSync, renameSync } from 'node:fs';
import { stateFolder, type StateFolder, systemCure } from '@pith/safe-files';

const EXTENSIONS = 'extensions';
/** Folder names in the data directory that an id could equal. Other names of the kernel begin with a point. */
const KERNEL_FOLDERS: ReadonlySet<string> = new Set([EXTENSIONS, 'logs']);

/** Where an extension keeps its data: a folder that no other id can name. Nothing is made. */
export function extensionData(dataDirectory: string, id: string): StateFolder {
  return stateFolder(dataDirectory, EXTENSIONS, id);
}

/** Makes the folder, the first time from where earlier versions kept it. Throws with a cure when it cannot be made. */
export function makeExtensionData(dataDirectory: string, id: string): string {
  const folder = extensionData(dataDirectory, id);
  try {
    if (!KERNEL_FOLDERS.has(id)) takeOver(dataDirectory, id, folder);
    return folder.make();
  } catch (error) {
    if (error instanceof PithError) throw error;
    throw new PithError('settings_invalid', `the data folder ${folder.path} cannot be made: ${messageOf(error)}`, {
      cause: error,
      where: folder.path,
      cure: `${systemCure(error, dataDirectory) ?? `make ${dataDirectory} writable`}, or set data_dir to another folder`,
    });
  }
}

/** Renames `data/<id>` of earlier versions, whole or not at all. What is a link or belongs to others stays where it is. */
function takeOver(dataDirectory: string, id: string, folder: StateFolder): void {
  const root = realpathSync(stateFolder(dataDirectory).make());
  const former = path.join(root, id);
  const found = lstatSync(former, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true || found.uid !== (process.getuid?.() ?? found.uid)) return;
  stateFolder(dataDirectory, EXTENSIONS).make();
  if (lstatSync(folder.path, { throwIfNoEntry: false }) !== undefined) return;
  try {
    if (realpathSync(former) === former) renameSync(former, folder.path);
  } catch (error) {
    // Another process was faster: its folder is the one.
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
