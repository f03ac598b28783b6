import { exclusivelyNow } from '@pith/folder-changes';
import { systemClock } from '@pith/promises';
import type { StateFolder } from '@pith/safe-files';
import { PithError } from '../contract/index.ts';

/** Runs while no other process changes the file `name` of the folder, so that no answer is lost. Throws `trust_failed` when another does not let go. */
export function withFileLock(folder: StateFolder, name: string, run: () => void): void {
  const busy = (where: string) =>
    new PithError('trust_failed', 'another Pith has the lock', { where, cure: 'try again; if no Pith runs, remove that folder' });
  exclusivelyNow({ folder, name: `${name}.lock`, busy }, systemClock, run);
}
