import { codeOf, messageOf } from '../../contract/errors.ts';
import { importBundle } from '../bundles/contract-shim.ts';
import type { Declaration } from '../discovery/declaration.ts';
import type { HostParts } from '../host-parts.ts';
import { Problem } from '../problem.ts';
import { runAs, type Owner } from '../stray-errors.ts';

/** Bundles and imports one entry of an extension. Throws a `Problem`. */
export async function importEntry(
  { bundles, loaded }: Pick<HostParts, 'bundles' | 'loaded'>,
  declaration: Declaration,
  entry: string,
  generation: number,
  owner: Owner,
) {
  const made = await bundles.bundle(declaration, entry);
  loaded(declaration.id, made.shipped);
  try {
    const module = await runAs(owner, () => importBundle(made.file, generation));
    return { module, shipped: made.shipped };
  } catch (error) {
    // A package that moved since the bundle was made is found again by making it anew.
    if (codeOf(error, '') === 'ERR_MODULE_NOT_FOUND') await bundles.forget(made);
    const refused = codeOf(error, '') === 'exit_refused';
    throw new Problem('import', refused ? 'exit_refused' : 'import_failed', `${entry} could not be imported: ${messageOf(error)}`, {
      cause: error,
      file: `${declaration.directory}/${entry}`,
    });
  }
}
