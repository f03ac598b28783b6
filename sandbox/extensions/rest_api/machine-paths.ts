import path from 'node:path';
import { hiddenFolders } from '@pith/plain-text';
import { type ExtensionContext, Places } from 'pith';

/** Shows folders of this machine by their names: whoever asks from elsewhere is not told where they are. */
export function machinePathsHidden({ use }: Pick<ExtensionContext, 'use'>): <T>(answer: T) => T {
  const { sandbox, project, home, shippedSandbox } = use(Places);
  return hiddenFolders({ sandbox, project, home, 'shipped sandbox': shippedSandbox, 'Pith itself': path.dirname(shippedSandbox) });
}
