import type { Command, CommandContext } from '../../contract/index.ts';
import type { Declaration } from '../discovery/declaration.ts';
import type { HostParts } from '../host-parts.ts';
import { Problem } from '../problem.ts';
import { runAs } from '../stray-errors.ts';
import { importEntry } from './import-entry.ts';

/** The default export of a command entry: makes commands without activating their extension. */
export type CommandEntry = (context: CommandContext) => readonly Command[] | Promise<readonly Command[]>;

/** Bundles and imports a command entry into this process. Rejects with a `Problem`. */
export async function importCommands(
  parts: Pick<HostParts, 'bundles' | 'loaded' | 'owner'>,
  declaration: Declaration,
  entry: string,
): Promise<CommandEntry> {
  const owner = parts.owner(declaration.id, 'import');
  const { module } = await importEntry(parts, declaration, entry, 1, owner);
  const make = module['default'];
  if (typeof make !== 'function')
    throw new Problem('import', 'import_failed', `${entry} has no function as its default export`, {
      file: `${declaration.directory}/${entry}`,
      cure: 'export default (context) => [commands]',
    });
  return async (context) => runAs(owner, () => (make as CommandEntry)(context));
}
