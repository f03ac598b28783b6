import { realpathSync } from 'node:fs';
import path from 'node:path';
import { stateFolder, type StateFolder } from '../contract/state-files.ts';

/** `~/.pith`, where what a person decided is kept. The person may have made it a link. */
export function pithFolder(home: string): StateFolder {
  const folder = path.join(home, '.pith');
  try {
    return stateFolder(realpathSync(folder));
  } catch {
    return stateFolder(folder); // it is made when something is written
  }
}
