import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { messageOf, PithError } from '../contract/errors.ts';
import { dataPathOf } from './toolsets/toolset-id.ts';

/** Makes the folder in which an extension keeps its data. Throws with a cure when something else stands there. */
export function makeDataFolder(dataDirectory: string, id: string): string {
  const folder = path.join(dataDirectory, dataPathOf(id));
  try {
    mkdirSync(folder, { recursive: true });
    return folder;
  } catch (error) {
    const isTaken = ['ENOTDIR', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '');
    throw new PithError(
      'settings_invalid',
      `the data folder ${folder} cannot be made: ${isTaken ? 'a file stands in its place' : messageOf(error)}`,
      {
        cause: error,
        where: folder,
        cure: isTaken
          ? 'move that file away, or set data_dir to another folder'
          : `make ${dataDirectory} writable, or set data_dir to another folder`,
      },
    );
  }
}
